"""What the compiler looks for in an experiment: which names, of which kind, and what their absence means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sexpgpu.compiler.frontend.contract_values import Evaluation, Loader, Optimizer, Precision, Run
from sexpgpu.compiler.frontend.ops.registry import Op
from sexpgpu.compiler.frontend.ops.support.staged import describe
from sexpgpu.compiler.frontend.values import POISON, Closure
from sexpgpu.diagnostics import Diagnostic, Edit, Fix, Label, Span, did_you_mean
from sexpgpu.diagnostics.record import record
from sexpgpu.diagnostics.suggest import distance, is_sure, of_another_library

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.evaluator import Evaluator


@record
class Wanted:
    """`kind` is a class of values, or the numbers of arguments a function may take; `what` says it in a message."""

    name: str
    kind: type | tuple[int, ...]
    what: str
    required: bool = False


WANTED: tuple[Wanted, ...] = (
    Wanted("train-loader", Loader, "a loader", True),
    Wanted("prepare", (1,), "a function of the batch", True),
    Wanted("model", (), "a function of the inputs", True),
    Wanted("objective", (2, 3), "a function of outputs and targets, and of the metadata if it likes", True),
    Wanted("optimizer", Optimizer, "an optimizer", True),
    Wanted("eval-prepare", (1,), "a function of the batch"),
    Wanted("evaluate", (2, 3), "a function of outputs and targets, and of the metadata if it likes"),
    Wanted("evaluations", tuple, "a vector of evaluations"),
    Wanted("curriculum", (1,), "a function of ctx"),
    Wanted("precision", Precision, "a precision"),
    Wanted("run", Run, "a `(run …)`"),
)


@record
class Definition:
    """A contract name's value (poison where it is wrong) and its place."""

    name: str
    value: object
    span: Span

    def accepts(self, count: int) -> bool:
        """Whether the function takes so many arguments."""
        match self.value:
            case Closure():
                return self.value.code.params.accepts(count)
            case Op():
                return self.value.signature.accepts(count)
        return False


class Contract:
    """The definitions that are there, by name; missing and wrong ones are reported while it is made."""

    def __init__(self, evaluator: Evaluator, file: str) -> None:
        self._evaluator = evaluator
        self.top = Span(file, 1, 1, 1, 1)
        self._found: dict[str, Definition] = {}
        for wanted in WANTED:
            self._look_for(wanted)
        self._warn_of_misspelt()

    def get(self, name: str) -> Definition | None:
        return self._found.get(name)

    def _look_for(self, wanted: Wanted) -> None:
        found = self._evaluator.user.table.get(wanted.name)
        if found is None:
            if wanted.required:
                self._missing(wanted)
            return
        found.used = True
        if found.kind == "macro":
            self._wrong(wanted, found.span, "a macro")
            self._found[wanted.name] = Definition(wanted.name, POISON, found.span)
            return
        value = self._evaluator.global_value(found, found.span)
        self._found[wanted.name] = Definition(wanted.name, self._checked(wanted, value, found.span), found.span)

    def _checked(self, wanted: Wanted, value: object, span: Span) -> object:
        if value is POISON:
            return POISON
        if isinstance(wanted.kind, tuple):
            if not isinstance(value, (Closure, Op)):
                self._wrong(wanted, span, describe(value))
                return POISON
            if wanted.kind and not any(Definition(wanted.name, value, span).accepts(n) for n in wanted.kind):
                params = value.code.params if isinstance(value, Closure) else value.signature
                found = f"`({wanted.name} {params})`" if str(params) else "a function of no arguments"
                self._wrong(wanted, span, found)
                return POISON
            return value
        if not isinstance(value, wanted.kind):
            self._wrong(wanted, span, describe(value))
            return POISON
        return value

    def _wrong(self, wanted: Wanted, span: Span, found: str) -> None:
        fix = None
        if wanted.name == "train-loader" and found == "a function":
            fix = "define it with `defvar`: `(defvar train-loader (loader …))`"
        self._evaluator.reporter.error("E-CONTRACT-002", f"`{wanted.name}` is {wanted.what}, not {found}", span,
                                       f"this is {found}", fix=fix)

    def _missing(self, wanted: Wanted) -> None:
        near = self._misspelt(wanted.name)
        table = self._evaluator.user.table
        secondary = [Label(table[near].span, f"`{near}` is defined here")] if near else []
        fix = Fix(f"define `{wanted.name}`: {wanted.what}")
        if near:
            fix = Fix(f"did you mean `{wanted.name}` by `{near}`?", (Edit(table[near].span, wanted.name),),
                      is_sure(near, wanted.name))
        self._evaluator.reporter.add(Diagnostic(
            "E-CONTRACT-001", f"the experiment does not define `{wanted.name}`",
            Label(self.top, f"`{wanted.name}` is missing"), tuple(secondary), fix=fix))

    def _misspelt(self, name: str) -> str | None:
        """A definition that nothing uses and whose name is almost `name`."""
        known = {w.name for w in WANTED}
        unused = [g.name for g in self._evaluator.user.table.values() if not g.used and g.name not in known]
        near = did_you_mean(name, unused)
        if near is not None and distance(name, near) <= (2 if len(name) > 5 else 1):
            return near
        return next((other for other in unused if of_another_library(other, [name])), None)

    def _warn_of_misspelt(self) -> None:
        table = self._evaluator.user.table
        for wanted in WANTED:
            if wanted.required:   # its absence is an error, which names the other definition
                continue
            near = self._misspelt(wanted.name) if wanted.name not in table else None
            if near is not None:
                self._evaluator.reporter.add(Diagnostic(
                    "W-CONTRACT-019", f"nothing uses `{near}`, and the compiler looks for `{wanted.name}`",
                    Label(table[near].span, "never used"),
                    fix=Fix(f"did you mean `{wanted.name}`?", (Edit(table[near].span, wanted.name),))))

    def evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations, without those that are wrong; two of one name are reported."""
        definition = self.get("evaluations")
        if definition is None or definition.value is POISON:
            return ()
        found: dict[str, Evaluation] = {}
        reporter = self._evaluator.reporter
        for item in definition.value:
            if not isinstance(item, Evaluation):
                if item is not POISON:
                    reporter.error("E-CONTRACT-002", f"`evaluations` holds {describe(item)}", definition.span,
                                   "not all of them are `(evaluation …)`")
            elif item.name in found:
                reporter.error("E-CONTRACT-021", f"two evaluations are called `{item.name}`", item.span,
                               "the second one", secondary=[Label(found[item.name].span, "the first one")])
            else:
                found[item.name] = item
        return tuple(found.values())

