"""Strings, and what a program says while it is compiled: `str`, `format`, `print`, `assert`, `error`, `gensym`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.data import Keyword, Symbol
from sexpgpu.compiler.frontend.layer_names import LayerText, number_text
from sexpgpu.compiler.frontend.ops.lists import COMPILE_TIME, truth
from sexpgpu.compiler.frontend.ops.registry import Call, Op, op
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import Closure, HostScalar, Tensor

STRINGS = "strings"


def shown(value: object, quoted: bool = False) -> str:
    """A value as text; strings inside of lists are quoted."""
    match value:
        case None:
            return "nil"
        case bool():
            return str(value).lower()
        case int():
            return str(int(value))
        case float():
            return {"inf": "inf", "-inf": "-inf", "nan": "nan"}.get(str(value), repr(value))
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if quoted else value
        case Keyword() | Symbol():
            return str(value)
        case tuple():
            return "[" + " ".join(shown(item, quoted=True) for item in value) + "]"
        case _:
            return f"<{describe(value)}>"


@op("str", "&rest values", group=STRINGS, grad=COMPILE_TIME, by_name=False,
    doc="The values as one string. A layer's number in a `repeat` makes a name for each layer.")
def text(call: BuiltinCall, values: tuple) -> str:
    values = _numbered(call, values)
    for i, value in enumerate(values):
        if isinstance(value, (Tensor, HostScalar)):
            call.fail("E-TYPE-013", f"`str` takes values known at compile time, not {describe(value)}",
                      at=call.where("values", i), label=f"this is {describe(value)}")
    return _joined(map(shown, values))


def _numbered(call: BuiltinCall, values: tuple) -> tuple:
    """The values with text in the place of a layer's number: in a `repeat` that is known in names only."""
    loops = call.evaluator.trace.layered
    return tuple([number_text(loops, value) or value for value in values]) if loops else values


def _joined(parts: Iterable[str]) -> str:
    made = LayerText.joined(list(parts))
    return made if made.loops else str(made)


_DIRECTIVE = re.compile(r"~(?:(,\d+)?([aAsSdDfF%~])|(.?))")


@op("format", "control &rest values", group=STRINGS, grad=COMPILE_TIME, by_name=False,
    doc="A string with values put in: `~a` as text, `~s` quoted, `~d` an integer, `~,2f` with two decimals, `~%` a "
        "new line, `~~` a tilde.")
def format_text(call: BuiltinCall, control: object, values: tuple) -> str:
    values = _numbered(call, values)
    if not isinstance(control, str):
        call.fail("E-TYPE-013", f"`format` takes a string first, not {describe(control)}", at=call.where("control"),
                  label=f"this is {describe(control)}", fix="write `(format \"…~a…\" value …)`")
    used = 0
    parts: list[str] = []
    end = 0
    for match in _DIRECTIVE.finditer(control):
        parts.append(control[end:match.start()])
        end = match.end()
        digits, letter, bad = match.groups()
        if letter is None:
            call.fail("E-TYPE-013", f"`format` has no directive `~{bad}`", at=call.where("control"),
                      label="unknown directive", fix="there are `~a`, `~s`, `~d`, `~f`, `~,2f`, `~%` and `~~`")
        if letter in "%~":
            parts.append("\n" if letter == "%" else "~")
            continue
        if used == len(values):
            call.fail("E-ARITY-002", f"`format` has {len(values)} values for more directives", at=call.where("control"),
                      label="more directives than values")
        parts.append(_directed(call, letter.lower(), digits, values[used], used))
        used += 1
    if used < len(values):
        call.fail("E-ARITY-001", f"`format` has {len(values)} values for {used} directives",
                  at=call.where("values", used), label="no directive takes this")
    return _joined([*parts, control[end:]])


def _directed(call: Call, letter: str, digits: str | None, value: object, index: int) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if letter == "f" and number:
        return f"{value:.{int(digits[1:]) if digits else 6}f}"
    if letter == "d" and isinstance(value, LayerText):
        return value
    if letter in "fd" and not (number and (letter == "f" or isinstance(value, int))):
        wanted = "a number" if letter == "f" else "an integer"
        call.fail("E-TYPE-013", f"`~{letter}` shows {wanted}, not {describe(value)}", at=call.where("values", index),
                  label=f"this is {describe(value)}")
    return shown(value, quoted=letter == "s")


@op("print", "&rest values", group=STRINGS, grad=COMPILE_TIME, by_name=False,
    doc="Writes the values to stderr while the experiment is compiled; gives the last one.")
def print_values(call: BuiltinCall, values: tuple) -> object:
    if call.evaluator.trace.speaks and not call.evaluator.reporter.silent:
        print(" ".join(map(shown, values)), file=sys.stderr)
    return values[-1] if values else None


@op("assert", "condition &optional message", group=STRINGS, grad=COMPILE_TIME,
    doc="An error when a condition is false at compile time.")
def assert_true(call: Call, condition: object, message: object) -> None:
    if truth(call, condition, None):
        return
    call.fail("E-VALUE-002", shown(message) if message is not None else "the assertion is false",
              at=call.where("condition"), label="is false")


@op("error", "control &rest values", group=STRINGS, grad=COMPILE_TIME, by_name=False,
    doc="An error with this message; more values are put into it as `format` does.")
def raise_error(call: BuiltinCall, control: object, values: tuple) -> None:
    text = format_text(call, control, values) if values else shown(control)
    call.fail("E-VALUE-003", text, label="raised here")


@op("gensym", "&optional prefix", group=STRINGS, grad=COMPILE_TIME,
    doc="A symbol that stands nowhere in the program, for the names that a macro binds.")
def gensym(call: BuiltinCall, prefix: object) -> Symbol:
    return Symbol(call.evaluator.gensym(prefix if isinstance(prefix, str) else "g"))


@op("nil?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is nil.")
def is_nil(_call: Call, value: object) -> bool:
    return value is None


@op("list?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is a list.")
def is_list(_call: Call, value: object) -> bool:
    return isinstance(value, tuple)


@op("tensor?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is a tensor.")
def is_tensor(_call: Call, value: object) -> bool:
    return isinstance(value, Tensor)


@op("number?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is a number known at compile time.")
def is_number(_call: Call, value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@op("string?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is a string.")
def is_string(_call: Call, value: object) -> bool:
    return isinstance(value, str)


@op("keyword?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is a keyword.")
def is_keyword(_call: Call, value: object) -> bool:
    return isinstance(value, Keyword)


@op("function?", "value", group=STRINGS, grad=COMPILE_TIME, doc="Whether a value is a function.")
def is_function(_call: Call, value: object) -> bool:
    return isinstance(value, (Closure, Op))
