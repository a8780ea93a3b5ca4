"""Lists and vectors at compile time, which are one thing. Nothing changes in place: each function gives a new list."""

from __future__ import annotations

from collections.abc import Sequence

from sexpgpu.compiler.frontend.budget import MAX_LENGTH
from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.ops.registry import Call, op
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import (
    Closure,
    Dim,
    HostScalar,
    Tensor,
    is_true,
)
from sexpgpu.diagnostics import Edit, Fix

LISTS = "lists"
COMPILE_TIME = "none: a value of compile time"


def a_list(call: Call, parameter: str, value: object, index: int | None = None) -> tuple:
    """The argument as a list; nil is the empty one."""
    if isinstance(value, tuple):
        return value
    if value is None:
        return ()
    fix = "`slice` and `take` read parts of a tensor" if isinstance(value, Tensor) else None
    call.fail("E-TYPE-013", f"`{call.op.name}` takes a list, not {describe(value)}", at=call.where(parameter, index),
              label=f"this is {describe(value)}", fix=fix)


def an_integer(call: Call, parameter: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    call.fail("E-TYPE-006", f"`{call.op.name}` takes an integer known at compile time, not {describe(value)}",
              at=call.where(parameter), label=f"this is {describe(value)}")


def truth(call: Call, value: object, function: object) -> bool:
    """The answer of a predicate, which must be known at compile time."""
    if isinstance(value, (Tensor, HostScalar)):
        call.fail("E-TYPE-013", f"`{call.op.name}` asks at compile time, and the answer is {describe(value)}",
                  label="known at run time only")
    return is_true(value)


def _list(name: str) -> None:
    @op(name, "&rest items", group=LISTS, doc="A list of its arguments.", grad=COMPILE_TIME, by_name=False,
        poison="inside")
    def make(_call: Call, items: tuple) -> tuple:
        return items


_list("list")
_list("vector")


@op("first", "items", group=LISTS, doc="The first element.", grad=COMPILE_TIME, poison="inside")
def first(call: Call, items: object) -> object:
    return _at(call, a_list(call, "items", items), 0, "items")


@op("rest", "items", group=LISTS, doc="All elements but the first.", grad=COMPILE_TIME, poison="inside")
def rest(call: Call, items: object) -> tuple:
    return tuple(a_list(call, "items", items)[1:])


@op("last", "items", group=LISTS, doc="The last element.", grad=COMPILE_TIME, poison="inside")
def last(call: Call, items: object) -> object:
    return _at(call, a_list(call, "items", items), -1, "items")


@op("nth", "items index", group=LISTS, doc="The element at an index, from 0; negative ones count from the end.",
    grad=COMPILE_TIME, poison="inside")
def nth(call: Call, items: object, index: object) -> object:
    if isinstance(items, int) and isinstance(index, tuple):
        call.fail("E-TYPE-013", "`nth` takes the list first, then the index", label="in the other order",
                  fix="write `(nth list index)`")
    return _at(call, a_list(call, "items", items), an_integer(call, "index", index), "index")


def _at(call: Call, items: Sequence[object], index: int, parameter: str) -> object:
    if -len(items) <= index < len(items):
        return items[index]
    length = "an empty list" if not items else f"a list of {len(items)}"
    call.fail("E-VALUE-001", f"`{call.op.name}` reads index {int(index)} of {length}", at=call.where(parameter),
              label=length if parameter == "items" else f"index {int(index)}",
              tries=[Fix(f"the last one is {len(items) - 1}", (Edit(call.where(parameter), str(len(items) - 1)),))]
              if items and parameter == "index" else ())


@op("len", "items", group=LISTS, doc="The number of elements of a list, or of characters of a string.",
    grad=COMPILE_TIME, poison="inside")
def length(call: Call, items: object) -> int:
    if isinstance(items, str):
        return len(items)
    if isinstance(items, Tensor):
        call.fail("E-TYPE-013", f"`len` takes a list, not {describe(items)}", at=call.where("items"),
                  label=f"this is {describe(items)}", fix="`(dim x 0)` is the size of a tensor's first axis")
    return len(a_list(call, "items", items))


@op("concat-lists", "&rest lists", group=LISTS, doc="One list of the elements of all.", grad=COMPILE_TIME,
    poison="inside")
def concat_lists(call: Call, lists: tuple) -> tuple:
    return tuple([item for i, part in enumerate(lists) for item in a_list(call, "lists", part, i)])


@op("reverse", "items", group=LISTS, doc="The elements in the other order.", grad=COMPILE_TIME, poison="inside")
def reverse(call: Call, items: object) -> tuple:
    return tuple(reversed(a_list(call, "items", items)))


# -- functions over lists ---------------------------------------------------------------------------------------------

@op("range", "start &optional end (step 1)", group=LISTS, grad=COMPILE_TIME,
    doc="The integers from `start` up to, not including, `end`; `(range n)` counts from 0.")
def integers(call: Call, start: object, end: object, step: object) -> tuple:
    low = an_integer(call, "start", start)
    high = an_integer(call, "end", end) if end is not None else None
    stride = an_integer(call, "step", step)
    if stride == 0:
        call.fail("E-VALUE-001", "`range` has a step of 0", at=call.where("step"), label="never ends")
    low, high = (0, low) if high is None else (low, high)
    count = -((low - high) // stride)   # `len` of a `range` counts to 2^63 only
    if count > MAX_LENGTH:
        call.fail("E-VALUE-005", f"a list at compile time has at most {MAX_LENGTH} elements",
                  label=f"{count} elements", fix="`arange` makes a tensor of numbers")
    return tuple([Dim(n) for n in range(low, high, stride)])


@op("map", "f items &rest more", group=LISTS, grad=COMPILE_TIME, poison="inside",
    doc="The results of a function on each element; of several lists, on the elements at each index.")
def map_list(call: BuiltinCall, f: object, items: object, more: tuple) -> tuple:
    lists = [a_list(call, "items", items), *(a_list(call, "more", part, i) for i, part in enumerate(more))]
    return tuple([_or_poison(call, f, *row) for row in zip(*lists, strict=False)])


def _or_poison(call: BuiltinCall, f: object, *arguments: object) -> object:
    """One wrong element does not silence the others."""
    return call.evaluator.apply(f, arguments, call.span)


@op("filter", "f items", group=LISTS, grad=COMPILE_TIME, doc="The elements on which a function is true.")
def filter_list(call: Call, f: object, items: object) -> tuple:
    return tuple([item for item in a_list(call, "items", items) if truth(call, call.apply(f, item), f)])


@op("reduce", "f items &optional init", group=LISTS, grad=COMPILE_TIME,
    doc="`(f (f (f init a) b) c)`: the elements put together from the left; without `init` the first one begins.")
def reduce_list(call: BuiltinCall, f: object, items: object, init: object) -> object:
    found = a_list(call, "items", items)
    if not isinstance(f, Closure) and isinstance(items, (Closure,)):
        call.fail("E-TYPE-013", "`reduce` takes the function first", label="in another order",
                  fix="write `(reduce function list init)`")
    if call.given("init"):
        value, others = init, found
    elif found:
        value, others = found[0], found[1:]
    else:
        call.fail("E-VALUE-001", "`reduce` of an empty list has no value to begin with", at=call.where("items"),
                  label="an empty list", fix="give a first value: `(reduce f items init)`")
    for item in others:
        value = call.apply(f, value, item)
    return value


@op("apply", "f arguments", group=LISTS, grad=COMPILE_TIME, doc="A call of a function with the elements of a list.")
def apply_list(call: Call, f: object, arguments: object) -> object:
    return call.apply(f, *a_list(call, "arguments", arguments))
