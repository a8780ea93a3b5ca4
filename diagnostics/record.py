"""Small classes whose attributes are their annotations: made, compared and shown as those of `dataclasses` are.

That module imports `inspect` and compiles six functions for each class, which was a quarter of the time of a check.
Here it is one function, and assignment is not refused: a record is changed by no one all the same, unless its class
says so. What a check does not import may be a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


class fresh:
    """A default that is made anew for each record: `values: list[int] = fresh(factory=list)`."""

    __slots__ = ("factory",)

    def __new__(cls, *, factory: Callable[[], T]) -> T:  # type: ignore[misc]
        self = object.__new__(cls)
        self.factory = factory
        return self  # type: ignore[return-value]


@dataclass_transform(field_specifiers=(fresh,))
def record(cls: type | None = None, /, *, eq: bool = True) -> Any:
    """The class with slots, `__init__`, `__match_args__`, `__repr__` and, with `eq`, equality and a hash by value.

    A method `__post_init__` is called when all attributes are set. One record may derive from another.
    """
    if cls is None:
        return lambda decorated: record(decorated, eq=eq)
    space, own = dict(vars(cls)), tuple(cls.__annotations__)
    defaults = getattr(cls, "__defaults__", {}) | {name: space.pop(name) for name in own if name in space}
    names = (*getattr(cls, "__match_args__", ()), *own)
    for unwanted in ("__dict__", "__weakref__"):
        space.pop(unwanted, None)
    space |= {"__slots__": own, "__match_args__": names, "__defaults__": defaults,
              "__init__": _init(names, defaults, hasattr(cls, "__post_init__"))}
    space.setdefault("__repr__", _repr)
    if eq:
        space |= _by_value(names)
    new = type(cls)(cls.__name__, cls.__bases__, space)
    new.__qualname__ = cls.__qualname__
    return new


def replace(of: T, /, **changes: object) -> T:
    """A record as `of`, with other values of some attributes."""
    return type(of)(**{name: getattr(of, name) for name in of.__match_args__} | changes)  # type: ignore[attr-defined]


def _init(names: tuple[str, ...], defaults: dict[str, object], has_more: bool) -> Callable:
    parameters, lines, scope = [], [], {}
    for name in names:
        default, at = defaults.get(name), f"default_{name}"
        parameters.append(f"{name}={at}" if name in defaults else name)
        is_fresh = isinstance(default, fresh)
        lines.append(f"self.{name} = {name}() if {name} is {at} else {name}" if is_fresh else f"self.{name} = {name}")
        scope[at] = default.factory if is_fresh else default
    if has_more:
        lines.append("self.__post_init__()")
    exec(f"def __init__(self, {', '.join(parameters)}): {'; '.join(lines) or 'pass'}", scope)
    return scope["__init__"]  # type: ignore[return-value]


def _by_value(names: tuple[str, ...]) -> dict[str, Callable]:
    values = attrgetter(*names)

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": lambda self: hash(values(self))}


def _repr(self: object) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)  # type: ignore[attr-defined]
    return f"{type(self).__name__}({shown})"
