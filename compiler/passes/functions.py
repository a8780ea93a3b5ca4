"""Functions as passes see them: arguments and results by name, found by role, cloned into one another.

A role function names its arguments and results in two attributes, arrays of strings, so that a pass appends what it
adds and nobody counts positions: `sexp.arguments` holds `field:0`, `param:w`, `buffer:mean`, `hyper`, `key`;
`sexp.results` holds `loss`, `metrics`, `counters`, `buffer:mean`, `grad:w`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from iree.compiler import ir


def functions(module: ir.Module) -> list[ir.Operation]:
    return [op.operation for op in module.body.operations if op.operation.name == "func.func"]


def symbol(func: ir.Operation) -> str:
    return ir.StringAttr(func.attributes["sym_name"]).value


def find(module: ir.Module, name: str) -> ir.Operation | None:
    return next((f for f in functions(module) if symbol(f) == name), None)


def role(func: ir.Operation) -> str | None:
    return ir.StringAttr(func.attributes["sexp.role"]).value if "sexp.role" in func.attributes else None


def by_role(module: ir.Module, *roles: str) -> list[ir.Operation]:
    """Functions of these roles, in the order the roles are given, then of the module."""
    return [f for r in roles for f in functions(module) if role(f) == r]


def body(func: ir.Operation) -> ir.Block:
    return func.regions[0].blocks[0]


def terminator(func: ir.Operation) -> ir.Operation:
    return last(body(func))


def last(block: ir.Block) -> ir.Operation:
    """The terminator of a block."""
    return block.operations[len(block.operations) - 1].operation


def sweep(block: ir.Block) -> None:
    """Erases operations whose results nobody uses; what has side effects stays."""
    for op in reversed([op.operation for op in block.operations][:-1]):
        if not any(True for r in op.results for _ in r.uses) and "has_side_effect" not in op.attributes:
            op.erase()


def walk(block: ir.Block) -> Iterator[ir.Operation]:
    """Every operation of a block and of the regions inside, in program order; safe to erase what is given."""
    for op in list(block.operations):
        regions = list(op.operation.regions)
        yield op.operation
        for region in regions:
            for inner in region.blocks:
                yield from walk(inner)


def named(module: ir.Module, name: str) -> list[ir.Operation]:
    """The operations of this name in all functions, as they stand before any is changed."""
    return [op for func in functions(module) for op in walk(body(func)) if op.name == name]


def computing(op: ir.Operation) -> list[ir.Block]:
    """The blocks in which tensors are computed: the body of a function, and those of loops and branches in it."""
    found = []
    for region in op.regions:
        for block in region.blocks:
            found.append(block)
            for inner in block.operations:
                if inner.operation.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
                    found += computing(inner.operation)
    return found


def uses_behind(op: ir.Operation, value: ir.Value) -> list[ir.OpOperand]:
    """Where `value` is read, of what stands behind `op` in its block."""
    return [use for use in value.uses if use.owner.operation.block == op.block
            and op.is_before_in_block(use.owner.operation)]


# -- names of arguments and results -----------------------------------------------------------------------------------

def replace(op: ir.Operation, value: ir.Value) -> None:
    """`value` takes the place of the operation's first result, and the operation goes."""
    op.results[0].replace_all_uses_with(value)
    op.erase()


def _names(func: ir.Operation, attribute: str, default: Sequence[str]) -> list[str]:
    if attribute not in func.attributes:
        return list(default)
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(func.attributes[attribute])]


def argument_names(func: ir.Operation) -> list[str]:
    return _names(func, "sexp.arguments", [f"field:{i}" for i in range(len(body(func).arguments))])


def result_names(func: ir.Operation) -> list[str]:
    return _names(func, "sexp.results", ["loss"])


def _set_names(func: ir.Operation, attribute: str, names: Sequence[str]) -> None:
    func.attributes[attribute] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])


def refresh_type(func: ir.Operation) -> None:
    """Makes the function's type say what its block and its return say."""
    inputs = [a.type for a in body(func).arguments]
    results = [v.type for v in terminator(func).operands]
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def argument(func: ir.Operation, name: str, type_: ir.Type | None = None) -> ir.Value:
    """The argument of this name; appended with `type_` where there is none yet."""
    names = argument_names(func)
    if name in names:
        return body(func).arguments[names.index(name)]
    assert type_ is not None, f"@{symbol(func)} has no argument {name}"
    value = body(func).add_argument(type_, func.location)
    _set_names(func, "sexp.arguments", [*names, name])
    refresh_type(func)
    return value


def add_results(func: ir.Operation, named: Mapping[str, ir.Value]) -> None:
    names = result_names(func)
    end = terminator(func)
    values = [*end.operands, *named.values()]
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create("func.return", operands=values)
    end.erase()
    _set_names(func, "sexp.results", [*names, *named])
    refresh_type(func)


# -- making and inlining ----------------------------------------------------------------------------------------------

@contextmanager
def new_function(module: ir.Module, name: str, inputs: Sequence[ir.Type]
                 ) -> Iterator[tuple[ir.Operation, list[ir.Value]]]:
    """A public function at the end of the module, open for insertion; `return_values` inside the block closes it."""
    with ir.InsertionPoint(module.body):
        func = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(inputs), [])),
            "sym_visibility": ir.StringAttr.get("public"),
        })
    block = ir.Block.create_at_start(func.regions[0], list(inputs), [func.location] * len(inputs))
    with ir.InsertionPoint(block):
        yield func, list(block.arguments)
    refresh_type(func)


def return_values(values: Sequence[ir.Value]) -> None:
    ir.Operation.create("func.return", operands=list(values))


def clone_one(op: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Clones at the insertion point; operands, also of nested operations, are looked up in `mapping`, which grows."""
    copy = op.clone(ir.InsertionPoint.current).operation
    _remap(copy, mapping)
    mapping.update(zip(op.results, copy.results, strict=True))
    return copy


def _remap(op: ir.Operation, mapping: Mapping[ir.Value, ir.Value]) -> None:
    for i, operand in enumerate(op.operation.operands):
        if operand in mapping:
            op.operation.operands[i] = mapping[operand]
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                _remap(inner.operation, mapping)


def inline(func: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """The body of `func` at the insertion point, on these arguments: the values it returns."""
    block = body(func)
    mapping = dict(zip(block.arguments, operands, strict=True))
    *ops, end = [op.operation for op in block.operations]
    for op in ops:
        clone_one(op, mapping)
    return [mapping.get(v, v) for v in end.operands]


def inline_named(func: ir.Operation, values: Mapping[str, ir.Value]) -> dict[str, ir.Value]:
    """`inline` by the names of arguments and results."""
    results = inline(func, [values[name] for name in argument_names(func)])
    return dict(zip(result_names(func), results, strict=True))


def captured(op: ir.Operation) -> list[ir.Value]:
    """Values from outside that the regions of `op` use, each once, in order of first use."""
    inside: set[ir.Value] = set()
    found: dict[ir.Value, None] = {}
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.arguments)
            for inner in walk(block):
                for nested in inner.regions:
                    for nested_block in nested.blocks:
                        inside.update(nested_block.arguments)
                found.update((v, None) for v in inner.operands if v not in inside)
                inside.update(inner.results)
    return list(found)
