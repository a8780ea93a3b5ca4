"""The new values of a parameter and of the optimizer's state for it in one kernel, for processors with AVX2.

They are elementwise of the same tensors: of AdamW two moments and a parameter, of a gradient and the old ones. The
code generator makes a kernel of each where one reads another, so that what is new goes to memory and comes back, and
one more for what scales the gradient, which its norm needs as well. Here a scale is computed again for each that reads
it.

A new value takes the memory of the old one: written to memory of its own, each line of that would be read first, and
twice as much would be in the caches' way. IREE copies where the old value is still wanted after, but takes for granted
that no two globals share memory, as those do that begin with equal values. So whatever else is stored in such a global
is a copy (`_own_memory`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.kernels import elementwise as kernels
from sexpgpu.compiler.kernels.code import LANES
from sexpgpu.compiler.kernels.steps import ITSELF, OPERATIONS, Steps
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.kernel_calls import KernelCalls
from sexpgpu.compiler.passes.known import number_of
from sexpgpu.compiler.passes.match import maker

#: Elements below which the start of a kernel is what takes time.
FEWEST = 1 << 12
#: Operations of one kernel, and tensors and scalars it reads.
MOST, MOST_READ = 64, 16


class _Program:
    """The operations that lead to some values of one shape, as steps, and what they begin with."""

    def __init__(self) -> None:
        self.tensors: list[ir.Value] = []
        self.scalars: list[ir.Value] = []
        self.ops: list[ir.Operation] = []

    def reach(self, value: ir.Value) -> None:
        op = maker(value)
        if number_of(value) is not None or (op is not None and op in self.ops):
            return
        if op is not None and op.name in OPERATIONS:
            for operand in op.operands:
                self.reach(operand)
            self.ops.append(op)
        elif op is not None and op.name == "stablehlo.broadcast_in_dim" and not hlo.shape_of(op.operands[0]):
            self.scalars += [op.operands[0]] if op.operands[0] not in self.scalars else []
        elif value not in self.tensors:
            self.tensors.append(value)

    def _place(self, value: ir.Value, places: dict[ir.Value, int]) -> int | float:
        number, op = number_of(value), maker(value)
        if number is not None:
            return number
        return places[value] if value in places else places[op.operands[0]]   # a scalar's, spread

    def steps(self, results: Sequence[ir.Value]) -> Steps:
        places = {v: i for i, v in enumerate([*self.tensors, *self.scalars])}
        steps = []
        for op in self.ops:
            steps.append((op.name, tuple(self._place(v, places) for v in op.operands)))
            places[op.results[0]] = len(places)
        return Steps(tuple(steps), tuple(places[v] for v in results))


def _stored(block: ir.Block) -> list[list[ir.Operation]]:
    """Stores of f32 tensors that are computed element by element, those together that have operations in common."""
    groups: list[list[ir.Operation]] = []
    group_of: dict[ir.Operation, list[ir.Operation]] = {}
    for op in [o.operation for o in block.operations if o.operation.name == "util.global.store"]:
        value = op.operands[0]
        shape = hlo.shape_of(value) if isinstance(value.type, ir.RankedTensorType) else ()
        made = maker(value)
        size = prod(shape)
        if made is None or made.name not in OPERATIONS or str(hlo.element_type(value)) != "f32" or size < FEWEST or \
                size % LANES:
            continue
        program = _Program()
        program.reach(value)
        group = next((group_of[o] for o in program.ops if o in group_of), None)
        if group is None:
            groups.append(group := [])
        group.append(op)
        for made_by in program.ops:
            group_of.setdefault(made_by, group)
    return [stores for stores in groups if len(stores) > 1]


def _global(op: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(op.attributes["global"]).value)


def _loads(block: ir.Block) -> dict[str, ir.Value]:
    """The values of globals that are read once."""
    found: dict[str, list[ir.Value]] = {}
    for op in [o.operation for o in block.operations if o.operation.name == "util.global.load"]:
        found.setdefault(_global(op), []).append(op.results[0])
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _rewrite(stores: list[ir.Operation], loads: dict[str, ir.Value], made: KernelCalls) -> list[str]:
    """The globals whose values are changed in place."""
    values = [s.operands[0] for s in stores]
    shape = hlo.shape_of(values[0])
    program = _Program()
    for value in values:
        program.reach(value)
    read = [*program.tensors, *program.scalars]
    if any(hlo.shape_of(v) != shape for v in values) or len(program.ops) > MOST or len(read) > MOST_READ or \
            any((op := maker(v)) is not None and not op.is_before_in_block(stores[0]) for v in read):
        return []
    size = prod(shape)
    old = [loads.get(_global(store)) for store in stores]
    onto = tuple(program.tensors.index(v) if v in program.tensors else -1 for v in old)
    kernel = kernels.Shape(size, len(program.tensors), len(program.scalars), program.steps(values), onto)
    with ir.InsertionPoint(stores[0]), stores[0].location:
        operands = [*(hlo.reshape(v, [size]) for v in program.tensors), *(hlo.reshape(v, [1]) for v in program.scalars)]
        for store, new in zip(stores, made.call(kernels.elementwise, kernel, operands, [[size]] * len(values),
                                               onto), strict=True):
            store.operands[0] = hlo.reshape(new, shape)
    for op in reversed(program.ops):
        if not any(True for _ in op.results[0].uses):
            op.erase()
    return [_global(store) for store, i in zip(stores, onto, strict=True) if i >= 0]


def _own_memory(module: ir.Module, changed: Container[str], made: KernelCalls) -> None:
    """What other functions store in these globals is a copy. Each has a number that the kernel does not need, for equal
    copies of equal values would be one."""
    for func in fn.functions(module):
        stores = [op for op in fn.walk(fn.body(func)) if op.name == "util.global.store" and _global(op) in changed]
        for number, store in enumerate(stores if fn.symbol(func) != "update" else ()):
            value = store.operands[0]
            size = prod(hlo.shape_of(value))
            kernel = kernels.Shape(size, 1, 1, ITSELF, (-1,))
            with ir.InsertionPoint(store), store.location:
                operands = [hlo.reshape(value, [size]), hlo.splat(number, [1], "f32")]
                copy, = made.call(kernels.elementwise, kernel, operands, [[size]])
                store.operands[0] = hlo.reshape(copy, hlo.shape_of(value))


def _apart(block: ir.Block) -> None:
    """A product of a tensor with a scalar, again for each that reads it: it need not go to memory then."""
    for op in [o.operation for o in block.operations if o.operation.name == "stablehlo.multiply"]:
        uses = list(op.results[0].uses)
        spread = maker(op.operands[1])
        if len(uses) > 1 and spread is not None and spread.name == "stablehlo.broadcast_in_dim" and \
                not hlo.shape_of(spread.operands[0]):
            for use in uses[1:]:
                copy = op.clone(ir.InsertionPoint(use.owner.operation)).operation
                use.owner.operation.operands[use.operand_number] = copy.results[0]


def apply(module: ir.Module, options: NoOptions) -> None:
    func = fn.find(module, "update")
    if func is None:
        return
    made, block = KernelCalls(module), fn.body(func)
    loads = _loads(block)
    changed = {name for stores in _stored(block) for name in _rewrite(stores, loads, made)}
    _own_memory(module, changed, made)
    _apart(block)


PASS = Pass("updates-avx2", "new values of a parameter and its optimizer's state as one kernel, for processors with "
            "AVX2", apply, optional=True)
