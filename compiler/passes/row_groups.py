"""Which operations of a block one kernel can do row by row: reductions over the last axis, what is computed of their
results, and what is computed element by element around them.

A group is convex: nothing outside needs a value of the group to make another the group reads. So the block is walked
once, and each value outside carries the groups it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from math import prod

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.reading import dims_of, reducer_of

CHEAP = frozenset(f"stablehlo.{n}" for n in (
    "abs", "add", "and", "clamp", "compare", "convert", "divide", "is_finite", "maximum", "minimum", "multiply",
    "negate", "not", "or", "rsqrt", "select", "sign", "sqrt", "subtract", "xor")) | {"chlo.square"}
ELEMENTWISE = CHEAP | frozenset(f"stablehlo.{n}" for n in (
    "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "power", "tanh")) | {"chlo.erf"}
#: Cost nothing inside a kernel that needs them.
MADE = ("stablehlo.broadcast_in_dim", "stablehlo.iota")

PRODUCTS = ("linalg.matmul", "linalg.batch_matmul", "stablehlo.dot_general", "stablehlo.dot")

#: Shorter rows are no work for a kernel of rows, longer ones do not stay in the nearest cache between its sums.
SHORTEST, LONGEST = 16, 8192
#: Rows times columns below which the start of a kernel is what takes time, and fusion is IREE's own.
FEWEST = 1 << 12
#: Operations and reductions of one kernel.
MOST, MOST_SUMS = 64, 8


@dataclass(eq=False, slots=True)
class Group:
    """`shape` is that of its rows, `before` the groups whose results it reads, `ops` in the order of the block. `dear`
    are values that each of their readers inside a kernel would compute again, at the price of an exponential: a sum of
    them begins another kernel, which reads them. `products` are what is computed on the tiles of a product."""

    shape: tuple[int, ...]
    ops: list[ir.Operation] = field(default_factory=list)
    values: set[ir.Value] = field(default_factory=set)
    inputs: set[ir.Value] = field(default_factory=set)
    before: set[Group] = field(default_factory=set)
    dear: set[ir.Value] = field(default_factory=set)
    products: set[ir.Value] = field(default_factory=set)

    @property
    def row(self) -> tuple[int, ...]:
        return self.shape[:-1]

    def is_row(self, value: ir.Value) -> bool:
        """One number for each row, with the last axis or without."""
        return shape_of(value) in (self.row, (*self.row, 1))

    @property
    def sums(self) -> int:
        return sum(op.name == "stablehlo.reduce" for op in self.ops)

    def part(self, ops: Container[ir.Operation]) -> Group:
        some = [op for op in self.ops if op in ops]
        return Group(self.shape, some, {op.results[0] for op in some}, products=self.products)

    def worth_it(self) -> bool:
        """One sum with what follows is a kernel of the code generator's own making, unless something outside reads the
        sum too. (With more than two axes its own two kernels were the faster.)"""
        if self.sums > 1:
            return True
        spread = any(op.name == "stablehlo.broadcast_in_dim" and op.operands[0] in self.values for op in self.ops)
        return spread and self.sums == 1 and len(self.shape) == 2


def shape_of(value: ir.Value) -> tuple[int, ...] | None:
    return tuple(hlo.shape_of(value)) if isinstance(value.type, ir.RankedTensorType) else None


def reads(op: ir.Operation) -> list[ir.Value]:
    """Its operands, and what its regions use from outside."""
    return [*op.operands, *(fn.captured(op) if len(op.regions) else ())]


def is_sum(op: ir.Operation) -> bool:
    """A reduction of floats over the last axis, of rows that are worth it."""
    if op.name != "stablehlo.reduce" or len(op.operands) != 2 or reducer_of(op) not in (
            "stablehlo.add", "stablehlo.maximum", "stablehlo.minimum"):
        return False
    shape = shape_of(op.operands[0])
    return (shape is not None and len(shape) > 1 and dims_of(op, "dimensions") == [len(shape) - 1]
            and str(hlo.element_type(op.operands[0])) == "f32"
            and SHORTEST <= shape[-1] <= LONGEST and prod(shape) >= FEWEST)


def is_elementwise(op: ir.Operation, names: Container[str] = ELEMENTWISE) -> bool:
    return op.name in names and all(shape_of(v) == shape_of(op.results[0]) for v in op.operands)


def owner_of(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def is_constant(value: ir.Value) -> bool:
    """Made of numbers alone."""
    owner = owner_of(value)
    return owner is not None and (owner.name in ("stablehlo.constant", "stablehlo.iota") or (
        (owner.name in MADE or is_elementwise(owner)) and all(is_constant(v) for v in owner.operands)))


def is_copied(op: ir.Operation) -> bool:
    """Numbers that lie in memory, repeated."""
    return op.name == "stablehlo.broadcast_in_dim" and owner_of(op.operands[0]) is not None and \
        owner_of(op.operands[0]).name != "stablehlo.constant"


def is_spread(op: ir.Operation, group: Group) -> bool:
    """A row's number for each of its elements."""
    return (op.name == "stablehlo.broadcast_in_dim" and shape_of(op.results[0]) == group.shape
            and group.is_row(op.operands[0])
            and dims_of(op, "broadcast_dimensions") == list(range(len(shape_of(op.operands[0])))))


def _fits(op: ir.Operation, group: Group) -> bool:
    """Whether a kernel of the group's rows can do this, given operands that it has or reads."""
    if len(op.results) != 1 or len(group.ops) >= MOST:
        return False
    result = op.results[0]
    if is_sum(op):
        return (shape_of(op.operands[0]) == group.shape and group.sums < MOST_SUMS
                and op.operands[0] not in group.dear)
    if is_elementwise(op):
        return shape_of(result) == group.shape or group.is_row(result)
    if op.name == "stablehlo.reshape":
        return group.is_row(result) and group.is_row(op.operands[0])
    return is_spread(op, group)


class _Walk:
    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.of: dict[ir.Value, Group] = {}
        self.behind: dict[ir.Value, frozenset[Group]] = {}
        self.products: set[ir.Value] = set()

    def needs(self, value: ir.Value) -> frozenset[Group]:
        return frozenset((self.of[value],)) if value in self.of else self.behind.get(value, frozenset())

    def legal(self, op: ir.Operation, group: Group) -> bool:
        waiting = [g for v in op.operands if self.of.get(v) is not group for g in self.needs(v)]
        seen: set[Group] = set()
        while waiting:
            found = waiting.pop()
            if found is group:
                return False
            if found not in seen:
                seen.add(found)
                waiting.extend(found.before)
        return True

    def candidates(self, op: ir.Operation) -> list[Group]:
        found = [self.of[v] for v in op.operands if v in self.of]
        if is_sum(op):
            found += [g for g in self.groups if op.operands[0] in g.inputs]
        return [g for g in reversed(self.groups) if g in found and _fits(op, g) and self.legal(op, g)]

    def follows_product(self, op: ir.Operation) -> bool:
        """Whether the code generator does this on the tiles of a product, while they are in registers."""
        return is_elementwise(op) and any(v in self.products and v not in self.of for v in op.operands)

    def visit(self, op: ir.Operation) -> None:
        if op.name in PRODUCTS or (op.name == "stablehlo.reshape" and op.operands[0] in self.products) or (
                self.follows_product(op)):
            self.products.update(op.results)
        chosen = None if self.follows_product(op) else next(iter(self.candidates(op)), None)
        if chosen is None and is_sum(op):
            chosen = Group(shape_of(op.operands[0]), products=self.products)
            self.groups.append(chosen)
        if chosen is None:
            behind = frozenset().union(*(self.needs(v) for v in reads(op)))
            for result in op.results:
                self.behind[result] = behind
            return
        chosen.ops.append(op)
        self.of[op.results[0]] = chosen
        chosen.values.add(op.results[0])
        if shape_of(op.results[0]) == chosen.shape and (
                op.name not in (*CHEAP, *MADE) or any(v in chosen.dear for v in op.operands)):
            chosen.dear.add(op.results[0])
        for value in op.operands:
            if self.of.get(value) is not chosen:
                chosen.inputs.add(value)
                chosen.before |= self.needs(value) - {chosen}


def closure(start: Iterable[ir.Operation], of: Callable[[ir.Operation], Iterable[ir.Operation]],
            inside: Container[ir.Operation]) -> set[ir.Operation]:
    found: set[ir.Operation] = set()
    waiting = list(start)
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting.extend(other for other in of(op) if other in inside)
    return found


def producers(op: ir.Operation) -> list[ir.Operation]:
    return [v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block)]


def _users(op: ir.Operation) -> list[ir.Operation]:
    return [u.owner.operation for r in op.results for u in r.uses]


def _cut(group: Group) -> tuple[set[ir.Operation], bool]:
    """The operations of the group that one kernel does: as many of its sums as can be, from the first on. And whether
    it can: the code generator tiles the last sum of a kernel, what leads to it and what follows from it, and refuses a
    result besides these."""
    mine = set(group.ops)
    sums = [op for op in group.ops if op.name == "stablehlo.reduce"]
    chosen, clean = mine, False
    for count in range(len(sums), 0, -1):
        early = mine - closure(sums[count:], _users, mine)
        before = closure([sums[count - 1]], producers, early)
        after = closure([sums[count - 1]], _users, early)
        chosen = before | after | closure(after, producers, early)
        beside = chosen - before - after
        clean = not any(user not in chosen for op in beside for user in _users(op))
        if clean and not any(user not in mine for op in early - chosen for user in _users(op)):
            return chosen, True
    return chosen, clean


def _parts(group: Group) -> list[Group]:
    if not group.worth_it():
        return []
    chosen, clean = _cut(group)
    here, rest = group.part(chosen), group.part(set(group.ops) - chosen)
    return [g for g in ([here] if clean else []) if g.worth_it()] + _parts(rest)


def groups_of(block: ir.Block) -> list[Group]:
    walk = _Walk()
    for op in block.operations:
        walk.visit(op.operation)
    return [part for group in walk.groups for part in _parts(group)]
