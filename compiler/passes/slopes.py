"""What the way back keeps of an activation: its slope, not what its slope is computed from.

The gradient of y = f(x), element by element, is c f'(x) for the cotangent c. Reverse mode writes it as sums of products
of c with values of the way forward: of gelu three beside y itself, each as large as the activations, and they stay in
memory until the way back reads them. Here the sum is a product with one tensor, f'(x), which is computed where y is:
that alone is kept. The numbers are the same but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.passes import functions as fn
from sexpgpu.compiler.passes.base import NoOptions, Pass
from sexpgpu.compiler.passes.known import number_of
from sexpgpu.compiler.passes.match import maker
from sexpgpu.compiler.passes.row_groups import ELEMENTWISE

#: Operations of one slope; more are no activation's.
MOST = 32
_LINKS = ("stablehlo.multiply", "stablehlo.negate", "stablehlo.add", "stablehlo.subtract")


def _within(value: ir.Value, block: ir.Block, names: tuple[str, ...] | frozenset[str]) -> ir.Operation | None:
    """What makes the value, if that is one of these operations in this block."""
    op = maker(value)
    return op if op is not None and op.block == block and op.name in names else None


def _candidates(value: ir.Value, block: ir.Block) -> Iterator[ir.Value]:
    """The value, and what it may be a multiple of."""
    pending = [value]
    for _ in range(MOST):
        if not pending:
            return
        found = pending.pop()
        yield found
        op = _within(found, block, _LINKS)
        pending += op.operands if op is not None else ()


def _is_before(value: ir.Value, op: ir.Operation) -> bool:
    made = maker(value)
    return made is None or made.block != op.block or made.is_before_in_block(op)


def _here(value: ir.Value, made: dict[ir.Value, ir.Value]) -> ir.Value:
    """The value at the insertion point, where constants from further on are not yet."""
    number = number_of(value)
    if value not in made and number is not None:
        made[value] = hlo.splat(number, hlo.shape_of(value), hlo.element_type(value))
    return made.get(value, value)


class _Factor:
    """`value` as a product with `cotangent`: how its factor is written, and what that reads."""

    def __init__(self, cotangent: ir.Value, block: ir.Block) -> None:
        self.cotangent, self.block = cotangent, block
        self.inside: list[ir.Operation] = []
        self.reads: list[ir.Value] = []

    def of(self, value: ir.Value) -> bool:
        """Whether `value` is a multiple of the cotangent; its operations are `inside` then."""
        if value == self.cotangent:
            return True
        op = _within(value, self.block, _LINKS)
        if op is None or op in self.inside or len(self.inside) > MOST:
            return False
        self.inside.append(op)
        if op.name != "stablehlo.multiply":
            return all(self.of(v) for v in op.operands)
        for scaled, by in (op.operands, reversed(op.operands)):
            if self._depends(scaled) and not self._depends(by):
                self.reads.append(by)
                return self.of(scaled)
        return False

    def _depends(self, value: ir.Value) -> bool:
        return any(v == self.cotangent for v in _candidates(value, self.block))

    def written(self, value: ir.Value, made: dict[ir.Value, ir.Value]) -> ir.Value | None:
        """The factor at the insertion point; None for 1. `made` are the values that stand there."""
        if value == self.cotangent:
            return None
        op = maker(value)
        assert op is not None
        if op.name == "stablehlo.multiply":
            scaled, by = op.operands if self._depends(op.operands[0]) else reversed(op.operands)
            factor, by = self.written(scaled, made), _here(by, made)
            return by if factor is None else hlo.multiply(factor, by)
        parts = [self.written(v, made) for v in op.operands]
        type_ = ir.RankedTensorType(value.type)
        whole = [hlo.splat(1, type_.shape, type_.element_type) if p is None else p for p in parts]
        return hlo.make(op.name, [type_], whole).result


def _source(reads: list[ir.Value], block: ir.Block) -> tuple[ir.Value, list[ir.Operation]] | None:
    """The one tensor that all of `reads` are functions of, element by element, and the operations between, in order."""
    between: list[ir.Operation] = []
    pending = [v for v in dict.fromkeys(reads) if number_of(v) is None]
    shape = hlo.shape_of(reads[0])
    while len(pending) > 1 and len(between) < MOST:
        makers = [m for v in pending if (m := maker(v)) is not None and m.block == block]
        last = next((m for m in makers if all(o == m or o.is_before_in_block(m) for o in makers)), None)
        if last is None or last.name not in ELEMENTWISE or len(last.results) != 1:
            return None
        between.append(last)
        pending = [v for v in dict.fromkeys([*(v for v in pending if v != last.results[0]), *last.operands])
                   if number_of(v) is None]
        if any(hlo.shape_of(v) != shape for v in pending):
            return None
    return (pending[0], between[::-1]) if len(pending) == 1 else None


def _rewrite(total: ir.Operation) -> None:
    block = total.block
    left, right = total.operands
    shared = [c for c in _candidates(left, block) if any(c == v for v in _candidates(right, block))]
    for cotangent in shared:
        factor = _Factor(cotangent, block)
        if not factor.of(total.results[0]):
            continue
        inside = factor.inside
        kept = {v for v in factor.reads if number_of(v) is None}
        found = _source(factor.reads, block) if len(kept) > 1 else None
        private = all(use.owner.operation in inside for op in inside if op != total for use in op.results[0].uses)
        if found is None or not private:
            continue
        source, between = found
        arrives = maker(cotangent)
        forward = [op for op in between if arrives is not None and op.is_before_in_block(arrives)]
        if not forward or source == cotangent or not _is_before(source, forward[-1]):
            continue
        made: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(_after(forward[-1])), total.location:
            for op in between:
                if op not in forward:
                    for v in op.operands:
                        _here(v, made)
                    fn.clone_one(op, made)
            slope = factor.written(total.results[0], made)
        assert slope is not None   # it reads something
        with ir.InsertionPoint(total), total.location:
            total.results[0].replace_all_uses_with(hlo.multiply(cotangent, slope))
        return


def _after(op: ir.Operation) -> ir.Operation:
    """The operation behind this one, which is not its block's last."""
    return next(o.operation for o in op.block.operations if op.is_before_in_block(o.operation))


def apply(module: ir.Module, options: NoOptions) -> None:
    for func in fn.by_role(module, "train"):
        for op in [op for op in fn.walk(fn.body(func)) if op.name == "stablehlo.add"]:
            _rewrite(op)
        fn.sweep(fn.body(func))


PASS = Pass("slopes", "of an activation the way back keeps the slope", apply, optional=True)
