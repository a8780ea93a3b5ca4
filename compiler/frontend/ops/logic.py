"""Comparison, logic, and choice by a condition: compile-time values, values of `ctx`, and tensors.

`=` and `/=` also compare compile-time words, strings and lists. `and` and `or` are special forms; on tensors they use
`logical-and` and `logical-or`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from sexpgpu.compiler import hlo
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support import host
from sexpgpu.compiler.frontend.ops.support.broadcast import Argument, agree_dtype, broadcast_arguments, operand, stretch
from sexpgpu.compiler.frontend.ops.support.dtype import BOOL
from sexpgpu.compiler.frontend.ops.support.elementwise import Elementwise, at, at_rest, elementwise, stage
from sexpgpu.compiler.frontend.ops.support.staged import describe, give, is_number
from sexpgpu.compiler.frontend.values import HostScalar, Tensor, is_true, same_value
from sexpgpu.diagnostics import Edit, Fix, Span, one_of

GROUP = "comparison, logic"
NO_GRAD = "none: it is constant almost everywhere"
RULE = "broadcast(a b) -> bool"


def comparison(direction: str, number: Callable[..., bool]) -> Elementwise:
    return Elementwise(number, partial(host.compare, direction), partial(hlo.compare, direction), domain="any",
                       keep_bool=True, result=BOOL)


COMPARISONS = {
    "=": comparison("EQ", operator.eq), "/=": comparison("NE", operator.ne),
    "<": comparison("LT", operator.lt), "<=": comparison("LE", operator.le),
    ">": comparison("GT", operator.gt), ">=": comparison("GE", operator.ge),
}
AND = Elementwise(lambda a, b: a and b, partial(host.logic, "arith.andi"), hlo.and_, domain="any", keep_bool=True)
OR = Elementwise(lambda a, b: a or b, partial(host.logic, "arith.ori"), hlo.or_, domain="any", keep_bool=True)
XOR = Elementwise(lambda a, b: is_true(a) != is_true(b), partial(host.logic, "arith.xori"), hlo.xor, domain="any",
                  keep_bool=True)


def _enter(name: str, doc: str) -> None:
    @op(name, "x &rest ys", group=GROUP, rule=RULE, grad=NO_GRAD, doc=doc, by_name=False)
    def compare(call: Call, x: object, ys: tuple) -> object:
        arguments = [at(call, "x", x), *at_rest(call, "ys", ys)]
        if name == "/=":
            pairs = [(a, b) for i, a in enumerate(arguments) for b in arguments[i + 1:]]
        else:
            pairs = list(pairwise(arguments))
        result: object = True
        for i, (a, b) in enumerate(pairs):
            found = _compare(call, name, a, b)
            result = found if i == 0 else both(call, Argument(result, call.span), Argument(found, call.span))
        return result


for _name, _doc in (("=", "Equal; of several operands, all of them."), ("/=", "Different; of several operands, each "
                    "from each other."), ("<", "Less; of several operands, in rising order."),
                    ("<=", "Less or equal."), (">", "Greater."), (">=", "Greater or equal.")):
    _enter(_name, _doc)


def _compare(call: Call, name: str, a: Argument, b: Argument) -> object:
    """One pair. `=` and `/=` compare anything at compile time; a stage of `ctx` compares with its name."""
    if name in ("=", "/="):
        for choice, word in ((a, b), (b, a)):
            if isinstance(choice.value, HostScalar) and choice.value.choices and isinstance(word.value, str):
                return _compare_choice(call, name, choice.value, word)
        if a.value is None or b.value is None:
            return (a.value is b.value) == (name == "=")
        staged = any(isinstance(v.value, (Tensor, HostScalar)) for v in (a, b))
        if not staged and not (is_number(a.value) and is_number(b.value)):
            return same_value(a.value, b.value) == (name == "=")
    return elementwise(call, COMPARISONS[name], [a, b])


def _compare_choice(call: Call, name: str, choice: HostScalar, word: Argument) -> HostScalar:
    assert isinstance(word.value, str)
    if word.value not in choice.choices:
        call.fail("E-CONTRACT-015", f'no stage is called "{word.value}"', at=word.span, label="no such stage",
                  fix=f"the stages are {one_of(word.value, choice.choices)}")
    index = host.constant(choice.choices.index(word.value), word.span)
    return host.compare("EQ" if name == "=" else "NE", choice, index, call.span)


def require_bool(call: Call, argument: Argument) -> None:
    """A condition: a bool, at compile time, of `ctx` or a tensor; E-TYPE-009 for numbers that are staged."""
    value = argument.value
    kind = value.dtype.name if isinstance(value, Tensor) else value.kind if isinstance(value, HostScalar) else "bool"
    if kind != "bool":
        span = argument.span
        after = Span(span.file, span.end_line, span.end_column, span.end_line, span.end_column)
        before = Span(span.file, span.line, span.column, span.line, span.column)
        call.fail("E-TYPE-009", f"`{call.op.name}` takes booleans, not {describe(value)}", at=span,
                  label=f"this is {kind}", fix=Fix("compare it with 0: `(/= … 0)`",
                                                   (Edit(before, "(/= "), Edit(after, " 0)"))))


def _logic(call: Call, spec: Elementwise, a: Argument, b: Argument) -> object:
    for argument in (a, b):
        require_bool(call, argument)
    staged = [x for x in (a, b) if isinstance(x.value, (Tensor, HostScalar))]
    if not staged:
        return spec.number(a.value, b.value)
    a, b = (x if x in staged else Argument(is_true(x.value), x.span) for x in (a, b))
    return elementwise(call, spec, [a, b])


def both(call: Call, a: Argument, b: Argument) -> object:
    """`and` of two values, for the special form and for chains of comparisons."""
    return _logic(call, AND, a, b)


def either(call: Call, a: Argument, b: Argument) -> object:
    """`or` of two values, for the special form."""
    return _logic(call, OR, a, b)


@op("logical-and", "x y", group=GROUP, rule=RULE, grad=NO_GRAD,
    doc="Both, element by element; what `and` is on tensors.")
def logical_and(call: Call, x: object, y: object) -> object:
    return both(call, at(call, "x", x), at(call, "y", y))


@op("logical-or", "x y", group=GROUP, rule=RULE, grad=NO_GRAD,
    doc="Either, element by element; what `or` is on tensors.")
def logical_or(call: Call, x: object, y: object) -> object:
    return either(call, at(call, "x", x), at(call, "y", y))


@op("xor", "x y", group=GROUP, rule=RULE, grad=NO_GRAD, doc="One of the two and not both, element by element.")
def logical_xor(call: Call, x: object, y: object) -> object:
    return _logic(call, XOR, at(call, "x", x), at(call, "y", y))


@op("not", "x", group=GROUP, rule="bool -> bool", grad=NO_GRAD, doc="The opposite: true of `nil` and `false`; element "
    "by element on a tensor of booleans.")
def logical_not(call: Call, x: object) -> object:
    argument = at(call, "x", x)
    if not isinstance(x, (Tensor, HostScalar)):
        return not is_true(x)
    require_bool(call, argument)
    spec = Elementwise(operator.not_, host.truth_not, hlo.not_, domain="any", keep_bool=True)
    return elementwise(call, spec, [argument])


@op("where", "condition x y", group=GROUP, rule="broadcast(bool a a) -> a",
    doc="`x` where the condition holds, else `y`. Numbers take the dtype of the tensor beside them.")
def where(call: Call, condition: object, x: object, y: object) -> object:
    test = at(call, "condition", condition)
    branches = [at(call, "x", x), at(call, "y", y)]
    if not isinstance(condition, (Tensor, HostScalar)):
        return x if is_true(condition) else y
    require_bool(call, test)
    if isinstance(condition, HostScalar):
        return elementwise(call, Elementwise(max, host.select, hlo.select), [test, *branches])
    dtype = agree_dtype(call, branches, keep_bool=True)
    if all(isinstance(b, bool) for b in (x, y)):
        dtype = BOOL
    tensors = [a for a in (test, *branches) if isinstance(a.value, Tensor)]
    dims = broadcast_arguments(call, tensors)
    chosen = [operand(call, b, dtype, dims, [t for t in tensors if t is not test]) for b in branches]
    return give(call, hlo.select(stretch(condition.value, dims), *chosen), dtype, dims)


def _float_test(name: str, doc: str, number: Callable[[float], bool], staged: Callable) -> None:
    @op(name, "x", group=GROUP, rule="a -> bool", grad=NO_GRAD, doc=doc)
    def test(call: Call, x: object) -> object:
        argument = at(call, "x", x)
        spec = Elementwise(number, None, staged, domain="float", result=BOOL)
        return stage(call, spec, [argument]) if isinstance(x, Tensor) else elementwise(call, spec, [argument])


_float_test("isnan", "Whether it is NaN.", math.isnan, lambda x: hlo.compare("NE", x, x))
_float_test("isinf", "Whether it is `inf` or `-inf`.", math.isinf, lambda x: hlo.compare(
    "EQ", hlo.abs_(x), hlo.splat(math.inf, hlo.shape_of(x), hlo.element_type(x))))
_float_test("isfinite", "Whether it is neither infinite nor NaN.", math.isfinite, hlo.is_finite)
