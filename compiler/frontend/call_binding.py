"""Binding the arguments of a call to a lambda list, from the shape of the call alone.

A keyword names an argument where it is written in the call itself; a keyword that is a variable's value is a value.
So a call is bound without running it, and mistakes are found in code that is never reached.

Built-ins and functions of the prelude take every argument by name; a user's function, and a built-in whose required
arguments may be keywords, takes `&key` ones by name. Where a keyword can be both a name and a value (`(cast x :f32)`),
it is a name when the function has an argument so called, and a value when a place for one is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sexpgpu.compiler.frontend.data import Atom, Form, Keyword
from sexpgpu.compiler.frontend.lambda_list import LambdaList
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, Span, did_you_mean, one_of
from sexpgpu.diagnostics.record import record
from sexpgpu.diagnostics.suggest import is_sure

#: Where a parameter's value comes from: the index of an argument, those of a `&rest`, or None for its default.
Slot: TypeAlias = "int | tuple[int, ...] | None"


@record
class CallShape:
    """What is known of a call from its text: `words[i]` is the keyword that is argument i, None for another
    expression; `spans[i]` is the argument's place."""

    span: Span
    words: tuple[str | None, ...]
    spans: tuple[Span, ...]

    @staticmethod
    def of(form: Form) -> CallShape:
        """That of a form whose first element is called."""
        data = form.items[1:]
        words = tuple(d.value.name if isinstance(d, Atom) and isinstance(d.value, Keyword) else None for d in data)
        return CallShape(form.span, words, tuple(d.span for d in data))


@record
class Callee:
    """What is called: its name, lambda list, which arguments have names, and where it is defined (a built-in: None)."""

    name: str
    params: LambdaList
    by_name: bool
    keyword_code: str = "E-ARITY-003"
    span: Span | None = None


class Bound(NamedTuple):
    """A slot for each parameter, in the order of `LambdaList.names`, and what is wrong with the call. `slots` is None
    where the call cannot be made; `unknown` keywords can be left out."""

    slots: tuple[Slot, ...] | None
    wrong: list[Diagnostic]
    unknown: tuple[str, ...] = ()


def bind(shape: CallShape, callee: Callee) -> Bound:
    return _Binder(shape, callee).run()


class _Binder:
    def __init__(self, shape: CallShape, callee: Callee) -> None:
        self.shape, self.callee = shape, callee
        params = callee.params
        self.positional = [p.name for p in (*params.required, *params.optional)]
        self.required = {p.name for p in params.required}
        self.keys = {p.name for p in params.key}
        self.names = self.keys | set(self.positional) if callee.by_name else self.keys
        self.taken: dict[str, int] = {}
        self.rest: list[int] = []
        self.wrong: list[Diagnostic] = []
        self.unknown: list[str] = []

    def run(self) -> Bound:
        words = self.shape.words
        extra: list[int] = []
        at = 0
        while at < len(words):
            word = words[at]
            kind = "value" if word is None else self._kind(word, at)
            if kind == "value":
                self._place(at, extra)
                at += 1
            elif at + 1 == len(words):
                self._fail("E-ARITY-004", f"`:{word}` has no value after it", self.shape.spans[at],
                           "a value is missing")
                at += 1
            else:
                if kind == "unknown":
                    self._unknown(word, at)
                elif word in self.taken:
                    self._fail("E-ARITY-005", f"`{self.callee.name}` is given `{word}` twice", self.shape.spans[at],
                               "the second time",
                               [Label(self.shape.spans[self.taken[word]], "the first time")])
                else:
                    self.taken[word] = at + 1
                at += 2
        if extra:
            self._too_many(extra)
        missing = [p.name for p in self.callee.params.required if p.name not in self.taken]
        if missing and not self.wrong:
            self._missing(missing)
        if missing or any(d.code != self.callee.keyword_code for d in self.wrong):
            return Bound(None, self.wrong)
        params = self.callee.params
        slots: list[Slot] = [self.taken.get(p.name) for p in (*params.required, *params.optional, *params.key)]
        if params.rest:
            slots.append(tuple(self.rest))
        return Bound(tuple(slots), self.wrong, tuple(self.unknown))

    def _kind(self, word: str, at: int) -> str:
        """Whether a keyword in the call is a `name`, a `value` or an `unknown` name."""
        free = self._free()
        if not self.callee.by_name and free and free[0] in self.required:
            return "value"
        followed = at + 1 < len(self.shape.words)
        if word in self.names and (followed or not free or self.callee.by_name):
            return "name"
        # `:axs 1` is a misspelt name rather than two values; `:f32 :keep true` is a value before a name.
        valued = followed and self.shape.words[at + 1] not in self.names
        if free and self._positional_after(at) < len(free) and (free[0] in self.required or not valued):
            return "value"
        if (self.callee.params.rest and not self.keys) or (not self.names and not followed):
            return "value"  # without names, one that is too many is one argument too many
        return "unknown"

    def _free(self) -> list[str]:
        return [name for name in self.positional if name not in self.taken]

    def _positional_after(self, at: int) -> int:
        """How many arguments after `at` have no name."""
        words, count, i = self.shape.words, 0, at + 1
        while i < len(words):
            named = words[i] is not None and words[i] in self.names and i + 1 < len(words)
            count += not named
            i += 2 if named else 1
        return count

    def _place(self, at: int, extra: list[int]) -> None:
        free = self._free()
        if free:
            self.taken[free[0]] = at
        elif self.callee.params.rest:
            self.rest.append(at)
        else:
            extra.append(at)

    def _fail(self, code: str, message: str, at: Span, label: str, secondary: Sequence[Label] = (),
              fix: Fix | None = None, tries: Sequence[Fix] = ()) -> None:
        self.wrong.append(Diagnostic(code, message, Label(at, label), tuple(secondary), (), (), fix, tuple(tries)))

    def _definition(self) -> list[Label]:
        return [Label(self.callee.span, f"`{self.callee.name}` is defined here")] if self.callee.span else []

    def _signature(self) -> str:
        shown = str(self.callee.params)
        return f"`({self.callee.name} {shown})`" if shown else f"`({self.callee.name})`"

    def _unknown(self, word: str, at: int) -> None:
        self.unknown.append(word)
        params = self.callee.params
        listed = [p.name for p in (*params.key,)]
        if self.callee.by_name:
            listed = [*self.positional, *listed]
        if not listed:
            fix = Fix(f"`{self.callee.name}` takes no keywords: {self._signature()}")
        else:
            choices = [f":{name}" for name in listed]
            near = did_you_mean(f":{word}", choices)
            edits = (Edit(self.shape.spans[at], near),) if near else ()
            fix = Fix(f"it takes {one_of(f':{word}', choices)}", edits, bool(near) and is_sure(f":{word}", near))
        self._fail(self.callee.keyword_code, f"`{self.callee.name}` has no keyword `:{word}`", self.shape.spans[at],
                   "unknown keyword", self._definition(), fix, self._without_keyword(at))

    def _too_many(self, extra: list[int]) -> None:
        most = len(self.positional)
        given = most + len(extra)
        self._fail("E-ARITY-001", f"`{self.callee.name}` takes {_count(most)}, and {given} are given",
                   self.shape.spans[extra[0]], "one too many" if len(extra) == 1 else "the first one too many",
                   self._definition(), Fix(f"its arguments are {self._signature()}"), self._named_or_joined(extra))

    def _without_keyword(self, at: int) -> list[Fix]:
        """The value alone: what is a keyword elsewhere stands at a place here."""
        spans = self.shape.spans
        if at + 1 >= len(spans) or not self._free():
            return []
        between = Span(spans[at].file, *spans[at][1:3], *spans[at + 1][1:3])
        return [Fix(f"it stands without a keyword: {self._signature()}", (Edit(between, ""),), True)]

    def _named_or_joined(self, extra: list[int]) -> list[Fix]:
        """What is one too many by its name; or all of them as the one list that is wanted."""
        spans = self.shape.spans
        keys = [p.name for p in self.callee.params.key if p.name not in self.taken]
        tries = [Fix(f"it has a name: `:{key}`", (Edit(spans[extra[0]].start, f":{key} "),)) for key in keys] \
            if len(extra) == 1 else []
        if len(self.positional) == 1 and self.positional[0] in self.taken:
            first, last = spans[self.taken[self.positional[0]]], spans[extra[-1]]
            tries.append(Fix("they stand in one vector: `[…]`", (Edit(first.start, "["), Edit(last.end, "]")), True))
        return tries

    def _missing(self, missing: list[str]) -> None:
        named = " and ".join(f"`{name}`" for name in missing)
        self._fail("E-ARITY-002", f"`{self.callee.name}` is called without {named}", self.shape.span,
                   f"{named} {'is' if len(missing) == 1 else 'are'} missing", self._definition(),
                   Fix(f"its arguments are {self._signature()}"))


def _count(n: int) -> str:
    return "no arguments" if n == 0 else "one argument" if n == 1 else f"{n} arguments"
