"""The one type of two staged branches: their values are taken apart into leaves, paired, and brought to one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iree.compiler import ir
from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import HostScalar, Tensor, same_value
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record
from sexpgpu.runtime.dtypes import DTYPES, DType


class Mismatch(Exception):
    """The branches have two types. `labels` are the places to show, each with what is there."""

    def __init__(self, message: str, *labels: tuple[Span | None, str]) -> None:
        super().__init__(message)
        self.labels = labels


@record
class Leaf:
    """One value of both branches: `values` in the graph, of one type, made again by `result`; or a compile-time value
    that both branches agree on (`values` is None)."""

    values: tuple[ir.Value, ir.Value] | None
    constant: object = None
    dtype: DType | None = None
    shape: tuple = ()
    kind: str = ""
    choices: tuple[str, ...] = ()


def flatten(a: object, b: object) -> list[tuple[object, object]]:
    """The leaves of two values of one structure, in pairs."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            raise Mismatch(f"a list of {len(a)} and a list of {len(b)}")
        return [pair for x, y in zip(a, b, strict=True) for pair in flatten(x, y)]
    return [(a, b)]


def _number(value: object) -> bool:
    return isinstance(value, (int, float))


def _span(value: object) -> Span | None:
    return getattr(value, "span", None)


def _differ(a: object, b: object) -> Mismatch:
    one, two = describe(a), describe(b)
    return Mismatch(f"{one} and {two}", (_span(a), one), (_span(b), two))


def tensor_leaves(pairs: Sequence[tuple[object, object]], blocks: Sequence[ir.Block], span: Span) -> list[Leaf]:
    leaves = []
    for a, b in pairs:
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            model = a if isinstance(a, Tensor) else b
            leaves.append(_tensor_leaf(a, b, model.dtype, model.shape, blocks))
        elif same_value(a, b):
            leaves.append(Leaf(None, a))
        elif _number(a) and _number(b):
            both_bool = isinstance(a, bool) and isinstance(b, bool)
            whole = isinstance(a, int) and isinstance(b, int)
            dtype = DTYPES["bool" if both_bool else "i32" if whole else "f32"]
            leaves.append(_tensor_leaf(a, b, dtype, (), blocks))
        else:
            raise _differ(a, b)
    return leaves


def _tensor_leaf(a: object, b: object, dtype: DType, shape: tuple, blocks: Sequence[ir.Block]) -> Leaf:
    values = []
    for value, block in zip((a, b), blocks, strict=True):
        if isinstance(value, Tensor):
            if value.dtype is not dtype or tuple(value.shape) != tuple(shape):
                raise _differ(a, b)
            values.append(value.value)
        elif _number(value) and (dtype.is_float or isinstance(value, int)) and (
                dtype.kind != "bool" or isinstance(value, bool)):
            with ir.InsertionPoint(block):
                values.append(hlo.splat(value, shape, dtype.mlir))
        else:
            raise _differ(a, b)
    return Leaf((values[0], values[1]), dtype=dtype, shape=shape)


def host_leaves(pairs: Sequence[tuple[object, object]], blocks: Sequence[ir.Block], span: Span) -> list[Leaf]:
    leaves = []
    for a, b in pairs:
        if not isinstance(a, HostScalar) and not isinstance(b, HostScalar) and same_value(a, b):
            leaves.append(Leaf(None, a))
        elif all(isinstance(x, str) or (isinstance(x, HostScalar) and x.kind == "choice") for x in (a, b)):
            leaves.append(_choice_leaf(a, b, blocks))
        elif all(_number(x) or (isinstance(x, HostScalar) and x.kind != "choice") for x in (a, b)):
            leaves.append(_host_leaf(a, b, blocks, span))
        else:
            raise _differ(a, b)
    return leaves


def _host_leaf(a: object, b: object, blocks: Sequence[ir.Block], span: Span) -> Leaf:
    scalars = []
    for value, block in zip((a, b), blocks, strict=True):
        with ir.InsertionPoint(block):
            scalars.append(host.scalar(value, span))
    kinds = {s.kind for s in scalars}
    kind = scalars[0].kind if len(kinds) == 1 else "f64" if "f64" in kinds else "i64"
    values = []
    for s, block in zip(scalars, blocks, strict=True):
        with ir.InsertionPoint(block):
            values.append(s.value if s.kind == kind else host.to_kind(s, kind))
    return Leaf((values[0], values[1]), kind=kind)


def _choice_leaf(a: object, b: object, blocks: Sequence[ir.Block]) -> Leaf:
    """Strings: the value is an index into the strings of both branches together."""
    choices: list[str] = []
    for value in (a, b):
        for word in value.choices if isinstance(value, HostScalar) else (value,):
            if word not in choices:
                choices.append(word)
    values = []
    for value, block in zip((a, b), blocks, strict=True):
        with ir.InsertionPoint(block):
            values.append(choice_index(value, choices))
    return Leaf((values[0], values[1]), kind="choice", choices=tuple(choices))


def choice_index(value: object, choices: Sequence[str]) -> ir.Value:
    """The index into `choices` of a string, or of a choice between other strings."""
    i64 = ir.IntegerType.get_signless(64)

    def constant(number: int) -> ir.Value:
        return ir.Operation.create("arith.constant", results=[i64],
                                   attributes={"value": ir.IntegerAttr.get(i64, number)}).result

    if isinstance(value, str):
        return constant(choices.index(value))
    assert isinstance(value, HostScalar)
    if value.choices == tuple(choices[:len(value.choices)]):
        return value.value
    result = constant(choices.index(value.choices[0]))
    for old, word in enumerate(value.choices[1:], 1):
        same = ir.Operation.create("arith.cmpi", results=[ir.IntegerType.get_signless(1)],
                                   operands=[value.value, constant(old)],
                                   attributes={"predicate": ir.IntegerAttr.get(i64, 0)}).result
        result = ir.Operation.create("arith.select", results=[i64],
                                     operands=[same, constant(choices.index(word)), result]).result
    return result


def rebuild(like: object, leaves: list[Leaf], results: Iterator[ir.Value], span: Span) -> object:
    """The value of the whole form: the structure of the branches, with what was selected in it."""
    rest = iter(leaves)

    def build(value: object) -> object:
        if isinstance(value, tuple):
            return tuple([build(item) for item in value])
        leaf = next(rest)
        if leaf.values is None:
            return leaf.constant
        if leaf.dtype is not None:
            return Tensor(next(results), leaf.dtype, leaf.shape, span)
        return HostScalar(next(results), leaf.kind, span, leaf.choices)

    return build(like)
