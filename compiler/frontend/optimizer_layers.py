"""A computation of one layer, applied to all layers of a stack at once.

What is element by element, moves axes, sums or multiplies matrices gets one more axis in front; a computation with
anything else in it runs layer by layer, in a loop. So the optimizer of a stacked parameter costs one pass over it, and
one that looks at a whole matrix (its rank, its norm) sees that of one layer.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.reading import dims_of, dot_numbers

_ELEMENTWISE = frozenset(f"stablehlo.{name}" for name in (
    "negate", "abs", "sign", "exponential", "exponential_minus_one", "log", "log_plus_one", "sqrt", "rsqrt", "cbrt",
    "floor", "ceil", "round_nearest_even", "sine", "cosine", "tan", "tanh", "logistic", "not", "add", "subtract",
    "multiply", "divide", "remainder", "power", "maximum", "minimum", "atan2", "and", "or", "xor", "is_finite",
    "compare", "convert", "select", "reduce_precision")) | {"chlo.erf", "chlo.erf_inv"}


def over_layers(block: ir.Block, results: Sequence[ir.Value], values: Sequence[ir.Value], layers: int
                ) -> list[ir.Value]:
    """The results of `block` on each layer, stacked `[layers, …]`. A value with one more axis than the argument it is
    for is a stack; any other is the same for all layers."""
    stacked = [len(hlo.shape_of(v)) > len(hlo.shape_of(a)) for v, a in zip(values, block.arguments, strict=True)]
    widened = _Widened(layers)
    for argument, value, is_stack in zip(block.arguments, values, stacked, strict=True):
        widened.values[argument] = value
        if is_stack:
            widened.stacks.add(argument)
    if all(widened.knows(op.operation) for op in block.operations):
        for op in block.operations:
            widened.add(op.operation)
        return [widened.stack(v) for v in results]
    return _one_by_one(block, results, values, stacked, layers)


class _Widened:
    """The values so far, by the value of one layer that each stands for."""

    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.values: dict[ir.Value, ir.Value] = {}
        self.stacks: set[ir.Value] = set()

    @staticmethod
    def knows(op: ir.Operation) -> bool:
        return op.name in _ELEMENTWISE or op.name in (
            "stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim", "stablehlo.reshape",
            "stablehlo.transpose", "stablehlo.dot_general") or (
            op.name == "stablehlo.reduce" and len(op.operands) == 2)

    def stack(self, value: ir.Value) -> ir.Value:
        new = self.values.get(value, value)
        if value in self.stacks:
            return new
        shape = hlo.shape_of(new)
        return hlo.broadcast_in_dim(new, [self.layers, *shape], [i + 1 for i in range(len(shape))])

    def add(self, op: ir.Operation) -> None:
        if not any(v in self.stacks for v in op.operands):
            fn.clone_one(op, self.values)
            return
        out = op.results[0]
        kind = ir.RankedTensorType(out.type)
        type_ = hlo.tensor_type([self.layers, *kind.shape], kind.element_type)
        self.values[out] = self._made(op, type_)
        self.stacks.add(out)

    def _made(self, op: ir.Operation, type_: ir.Type) -> ir.Value:
        first = self.stack(op.operands[0])
        shape = ir.RankedTensorType(type_).shape
        match op.name:
            case "stablehlo.broadcast_in_dim":
                return hlo.broadcast_in_dim(first, shape, [0, *(d + 1 for d in dims_of(op, "broadcast_dimensions"))])
            case "stablehlo.reshape":
                return hlo.reshape(first, shape)
            case "stablehlo.transpose":
                return hlo.transpose(first, [0, *(d + 1 for d in dims_of(op, "permutation"))])
            case "stablehlo.reduce":
                return self._reduced(op, first, type_)
            case "stablehlo.dot_general":
                n = dot_numbers(op)
                batch = tuple([0, *(d + 1 for d in dims)] for dims in n.batch)
                contract = tuple([d + 1 for d in dims] for dims in n.contract)
                return hlo.dot_general(first, self.stack(op.operands[1]), contract=contract, batch=batch,
                                       element=ir.RankedTensorType(type_).element_type)
        operands = [self._beside(v, len(shape) - 1) for v in op.operands]
        return hlo.make(op.name, [type_], operands, {a: op.attributes[a] for a in op.attributes}).result

    def _beside(self, value: ir.Value, rank: int) -> ir.Value:
        """An operand of an elementwise operation; the condition of a `select` may be a scalar beside a tensor."""
        new = self.stack(value)
        own = len(hlo.shape_of(new)) - 1
        if own == rank:
            return new
        like = next(hlo.shape_of(self.values[v]) for v in self.stacks if len(hlo.shape_of(self.values[v])) == rank + 1)
        return hlo.broadcast_in_dim(new, like, [0])

    def _reduced(self, op: ir.Operation, first: ir.Value, type_: ir.Type) -> ir.Value:
        start = self.values.get(op.operands[1], op.operands[1])
        dims = [d + 1 for d in dims_of(op, "dimensions")]
        made = hlo.make(op.name, [type_], [first, start], {"dimensions": hlo.i64_array(dims)}, regions=1)
        old = op.regions[0].blocks[0]
        block = hlo.block(made.regions[0], [a.type for a in old.arguments])
        with ir.InsertionPoint(block):
            mapping = dict(zip(old.arguments, block.arguments, strict=True))
            for inner in old.operations:
                fn.clone_one(inner.operation, mapping)
        return made.results[0]


def _one_by_one(block: ir.Block, results: Sequence[ir.Value], values: Sequence[ir.Value], stacked: Sequence[bool],
                layers: int) -> list[ir.Value]:
    types = [ir.RankedTensorType(v.type) for v in results]
    empty = [hlo.splat(0, [layers, *t.shape], t.element_type) for t in types]

    def step(index: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        zero = hlo.splat(0, [], "i32")

        def part(value: ir.Value) -> ir.Value:
            shape = hlo.shape_of(value)[1:]
            return hlo.reshape(hlo.dynamic_slice(value, [index, *[zero] * len(shape)], [1, *shape]), shape)

        mapping = {a: part(v) if is_stack else v
                   for a, v, is_stack in zip(block.arguments, values, stacked, strict=True)}
        for op in block.operations:
            if hlo.marker_kind(op.operation) == "random":
                config = ir.DictAttr(op.operation.attributes["backend_config"])
                made = hlo.marker("random", [index], [op.operation.results[0].type],
                                  {"site": config["site"]})
                mapping[op.operation.results[0]] = made.results[0]
            else:
                fn.clone_one(op.operation, mapping)
        return [hlo.dynamic_update_slice(s, hlo.reshape(mapping.get(v, v), [1, *t.shape]),
                                         [index, *[zero] * len(t.shape)])
                for s, v, t in zip(carried, results, types, strict=True)]

    return hlo.counted_loop(layers, empty, step)
