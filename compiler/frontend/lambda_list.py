"""Lambda lists: `x y &optional (z 1) &key (axis nil) keep &rest xs`, for built-ins and the user's functions alike.

Only the shape of the list is here; defaults of a user's function are data to evaluate at the call, defaults of a
built-in are values. Binding is the evaluator's.
"""

from __future__ import annotations

from collections.abc import Callable

from sexpgpu.compiler.frontend.data import Atom, Datum, Form, Symbol
from sexpgpu.diagnostics import Span
from sexpgpu.diagnostics.record import record


@record
class Parameter:
    """`default` is a value for a built-in and a `Datum` for a user's function; meaningless for a required one."""

    name: str
    default: object = None


class LambdaList:
    """`all` are the parameters in the order a built-in's Python function takes them: required, optional, key, rest."""

    __slots__ = ("all", "key", "names", "optional", "required", "rest")

    def __init__(self, required: tuple[Parameter, ...] = (), optional: tuple[Parameter, ...] = (),
                 key: tuple[Parameter, ...] = (), rest: Parameter | None = None) -> None:
        self.required, self.optional, self.key, self.rest = required, optional, key, rest
        self.all = (*required, *optional, *key, *((rest,) if rest else ()))
        self.names = tuple([p.name for p in self.all])

    def accepts(self, count: int) -> bool:
        """Whether `count` positional arguments fit."""
        most = len(self.required) + len(self.optional)
        return len(self.required) <= count and (self.rest is not None or count <= most)

    def __str__(self) -> str:
        def shown(parameter: Parameter) -> str:
            default = parameter.default
            if default is None:
                return parameter.name
            if isinstance(default, Atom):
                default = default.value
            elif isinstance(default, Form):
                default = f"({default.head} …)" if default.head else "…"
            text = str(default).lower() if isinstance(default, bool) else str(default)
            return f"({parameter.name} {text})"

        parts = [p.name for p in self.required]
        if self.optional:
            parts += ["&optional", *map(shown, self.optional)]
        if self.key:
            parts += ["&key", *map(shown, self.key)]
        if self.rest:
            parts += ["&rest", self.rest.name]
        return " ".join(parts)


def parse_signature(text: str) -> LambdaList:
    """The lambda list of a built-in, from the table's text. Defaults are numbers, `true`, `false`, `nil`, keywords
    (as their text with the colon) or bare words."""
    section, groups = "required", {"required": [], "optional": [], "key": [], "rest": []}
    for word in _words(text):
        if word.startswith("&"):
            section = word[1:]
            assert section in groups, text
        elif word.startswith("("):
            name, default = word[1:-1].split(None, 1)
            groups[section].append(Parameter(name, _default(default)))
        else:
            groups[section].append(Parameter(word))
    assert len(groups["rest"]) <= 1, text
    return LambdaList(tuple(groups["required"]), tuple(groups["optional"]), tuple(groups["key"]),
                      groups["rest"][0] if groups["rest"] else None)


def _words(text: str) -> list[str]:
    words, rest = [], text.strip()
    while rest:
        end = rest.index(")") + 1 if rest.startswith("(") else len(rest.split(None, 1)[0])
        words.append(rest[:end])
        rest = rest[end:].strip()
    return words


def _default(text: str) -> object:
    if text in ("true", "false", "nil"):
        return {"true": True, "false": False, "nil": None}[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def read_lambda_list(datum: Datum, report: Callable[[str, str, Span, str], None]) -> LambdaList | None:
    """The lambda list of a user's function. Mistakes go to `report` (code, message, span, label); then it is None."""
    if not isinstance(datum, Form):
        report("E-ARITY-007", "a parameter list is a list of names", datum.span, "not a list")
        return None
    section, groups = "required", {"required": [], "optional": [], "key": [], "rest": []}
    names: set[str] = set()
    good = True

    def bad(at: Datum, message: str, label: str, code: str = "E-ARITY-007") -> None:
        nonlocal good
        good = False
        report(code, message, at.span, label)

    for item in datum.items:
        name = _name(item)
        if name is not None and name.startswith("&"):
            if name[1:] not in ("optional", "key", "rest"):
                bad(item, f"`{name}` is no part of a parameter list", "neither `&optional`, `&key` nor `&rest`")
            elif groups[name[1:]] or name[1:] == section or section == "rest":
                bad(item, f"`{name}` stands twice or too late in a parameter list", "misplaced")
            elif {name[1:], section} == {"optional", "key"}:
                bad(item, "`&optional` and `&key` stand in one parameter list", "one of the two only")
            else:
                section = name[1:]
            continue
        default: Datum | None = None
        if name is None and section in ("optional", "key") and isinstance(item, Form) and len(item.items) == 2:
            name, default = _name(item.items[0]), item.items[1]
        if name is None:
            wanted = "a name, or `(name default)`" if section in ("optional", "key") else "a name"
            bad(item, f"a parameter is {wanted}", "not a parameter")
        elif name in names:
            bad(item, f"the parameter `{name}` stands twice", "the second one", "E-NAME-003")
        elif section == "rest" and groups["rest"]:
            bad(item, "`&rest` takes one name", "the second one")
        else:
            names.add(name)
            groups[section].append(Parameter(name, default))
    if section == "rest" and not groups["rest"] and good:
        bad(datum, "`&rest` has no name after it", "a name is missing")
    if not good:
        return None
    return LambdaList(tuple(groups["required"]), tuple(groups["optional"]), tuple(groups["key"]),
                      groups["rest"][0] if groups["rest"] else None)


def _name(datum: Datum) -> str | None:
    return datum.value.name if isinstance(datum, Atom) and isinstance(datum.value, Symbol) else None
