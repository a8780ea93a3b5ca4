"""Frozen dataclasses to JSON and back, strictly: every key known, every key there, every value of its declared type.

Understands `str`, `int`, `float` (takes an integer too), `bool`, `X | None`, `tuple[X, ...]`, `dict[str, …]` (kept as
it is), nested dataclasses, and classes with a `from_json` of their own. A field with a default may be absent. The one
error is `CodecError`; it names the place (`evaluations[0].metrics`) and says what stood there.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import TypeVar

from sexpgpu.runtime.dataio.spec import Json

T = TypeVar("T")


class CodecError(Exception):
    """`place` is a path into the document, `problem` a fact about what stands there."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place or 'the document'}: {problem}")
        self.place = place
        self.problem = problem


def encode(value: object) -> Json:
    """The JSON of a dataclass, of a tuple or list of them, or of a plain value."""
    if hasattr(value, "to_json"):
        return value.to_json()  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [encode(x) for x in value]
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    assert value is None or isinstance(value, bool | int | float | str), f"{value!r} has no JSON"
    return value


def decode(cls: type[T], data: Json, place: str = "") -> T:
    """A `cls` from its JSON, or `CodecError`."""
    if not isinstance(data, dict):
        raise CodecError(place, f"an object was expected, {_kind(data)} stands there")
    hints = _hints(cls)
    for key in data:
        if key not in hints:
            raise CodecError(place, f"the key `{key}` is unknown")
    values: dict[str, object] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        at = f"{place}.{field.name}" if place else field.name
        if field.name in data:
            values[field.name] = _value(hints[field.name], data[field.name], at)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise CodecError(place, f"the key `{field.name}` is missing")
    return cls(**values)


@cache
def _hints(cls: type) -> dict[str, object]:
    return typing.get_type_hints(cls)


def _value(hint: object, data: Json, place: str) -> object:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        if data is None and type(None) in args:
            return None
        (hint,) = (a for a in args if a is not type(None))
        return _value(hint, data, place)
    if origin is tuple:
        if not isinstance(data, list):
            raise CodecError(place, f"a list was expected, {_kind(data)} stands there")
        return tuple(_value(args[0], x, f"{place}[{i}]") for i, x in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise CodecError(place, f"an object was expected, {_kind(data)} stands there")
        return data
    assert isinstance(hint, type)
    if hasattr(hint, "from_json"):
        try:
            return hint.from_json(data)  # type: ignore[attr-defined]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise CodecError(place, f"it cannot be read ({type(error).__name__}: {error})") from error
    if dataclasses.is_dataclass(hint):
        return decode(hint, data, place)
    if hint is float and type(data) is int:
        return float(data)
    if type(data) is not hint:
        raise CodecError(place, f"{_NAMES[hint]} was expected, {_kind(data)} stands there")
    return data


_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def _kind(data: Json) -> str:
    match data:
        case None:
            return "null"
        case bool():
            return "true" if data else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return _NAMES[type(data)]
