"""What a pass is: a name, a line of summary, options, and a function that changes a module in place.

Options are the fields of a frozen dataclass, and the text form `name{field=value other=1,2}` follows from them. A pass
may assume that the module is valid and that the markers of earlier passes are gone; `pipeline` checks both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TypeAlias

from iree.compiler import ir
from sexpgpu.diagnostics import one_of


@dataclass(frozen=True, slots=True)
class NoOptions:
    """For a pass that has nothing to choose."""


Options: TypeAlias = object


@dataclass(frozen=True, slots=True)
class Pass:
    """`apply(module, options)` runs inside the module's context, with a location set.

    `lowers` names the marker kinds none of which may be left afterwards. What is `optional` only makes a module
    faster: it is right without, and whoever meets a fault of the pass can leave it out.
    """

    name: str
    summary: str
    apply: Callable[[ir.Module, Options], None]
    options: type = NoOptions
    lowers: tuple[str, ...] = ()
    optional: bool = False


class PassTextError(ValueError):
    """A pass name or an option that does not exist or does not read; the message suggests."""


_TEXT = re.compile(r"([\w-]+)(?:\{(.*)\})?", re.DOTALL)


def parse_pass(text: str, passes: Mapping[str, Pass]) -> tuple[Pass, Options]:
    """`autodiff{function=f wrt=0,1}` as a pass and its options."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise PassTextError(f"`{text}` is not of the form `name{{option=value …}}`")
    name, body = match.groups()
    if name not in passes:
        raise PassTextError(f"there is no pass `{name}`: {one_of(name, passes)}")
    found = passes[name]
    known = {f.name.replace("_", "-"): f for f in fields(found.options)}
    values: dict[str, object] = {}
    for item in (body or "").split():
        key, _, value = item.partition("=")
        if key not in known:
            raise PassTextError(f"`{name}` has no option `{key}`: {one_of(key, known)}")
        values[known[key].name] = _read(str(known[key].type), value, f"{name}{{{key}}}")
    for key, field in known.items():
        if field.name not in values and field.default is MISSING:
            raise PassTextError(f"`{name}` needs the option `{key}`")
    return found, found.options(**values)


def _read(kind: str, value: str, where: str) -> object:
    try:
        match kind:
            case "str":
                return value
            case "int":
                return int(value)
            case "bool":
                return {"": True, "true": True, "false": False}[value]
            case "tuple[int, ...]":
                return tuple(int(v) for v in value.split(",") if v)
            case "tuple[str, ...]":
                return tuple(v for v in value.split(",") if v)
    except (KeyError, ValueError):
        raise PassTextError(f"`{where}`: `{value}` is not of type {kind}") from None
    raise AssertionError(f"option type {kind} cannot be read from text")
