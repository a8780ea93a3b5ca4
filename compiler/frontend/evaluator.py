"""Runs analysed code: calls of built-ins and of functions of the language, and the values of definitions.

One `Evaluator` serves one experiment. Values are computed at compile time; operations on tensors are staged into the
function that is being traced (`trace`), each with the span of its call, and the calls that led there, as its location.
A wrong expression gives poison, which silences what depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sexpgpu.compiler.frontend.special_forms  # noqa: F401  (fills the table of special forms)
from sexpgpu.compiler.frontend.analysis import Analyzer
from sexpgpu.compiler.frontend.budget import Budget
from sexpgpu.compiler.frontend.builtin_call import BuiltinCall
from sexpgpu.compiler.frontend.call_binding import Callee, CallShape, Slot, bind
from sexpgpu.compiler.frontend.code_values import to_data, to_value
from sexpgpu.compiler.frontend.contract_values import Export
from sexpgpu.compiler.frontend.data import Datum, Form
from sexpgpu.compiler.frontend.definitions import function_of, initializer_of
from sexpgpu.compiler.frontend.environment import Global, Module, PreludeModule, State, UserModule
from sexpgpu.compiler.frontend.initialisers import Initialisers
from sexpgpu.compiler.frontend.locations import Locations, nowhere
from sexpgpu.compiler.frontend.ops.registry import Failed, Op
from sexpgpu.compiler.frontend.ops.support.dtype import F32
from sexpgpu.compiler.frontend.report import Activation, Reporter
from sexpgpu.compiler.frontend.staging import Staging
from sexpgpu.compiler.frontend.trace import Trace, holds_tensors
from sexpgpu.compiler.frontend.values import POISON, Closure, Dim, Origin, has_poison
from sexpgpu.diagnostics import Label, SourceMap, Span

if TYPE_CHECKING:
    from sexpgpu.compiler.frontend.places import Places


class Evaluator:
    """`reporter` collects what is wrong; `trace` is the function being staged, a function of the module `staging`;
    `overrides` are the `-D` values. Without `finish` the module is staged for what is wrong with it only."""

    def __init__(self, sources: SourceMap, reporter: Reporter, overrides: Mapping[str, Datum],
                 finish: bool = True) -> None:
        self.sources, self.reporter, self.overrides = sources, reporter, overrides
        self.budget = Budget(reporter)
        self.trace = Trace()
        self.staging = Staging(self)
        self.initialisers = Initialisers(self)
        self.location = Locations(reporter).of if finish else nowhere
        self.prelude = PreludeModule(Path(__file__).parent / "prelude", sources)
        self.user = UserModule(self.prelude)
        self.analyzers = {False: Analyzer(self, self.user), True: Analyzer(self, self.prelude)}
        self.unresolved: list[tuple[Analyzer, str, Span, set[str]]] = []
        self.parameter_dtype = F32
        self._places: Places | None = None
        self._callees: dict[str, Callee] = {}
        self._initializers: dict[Global, object] = {}
        self.fields_read: set[Span] = set()
        self.exports: list[Export] = []
        self.unknown_words: tuple[str, ...] = ()   # of the call that is made all the same
        self._gensyms = 0

    # -- what code asks for -------------------------------------------------------------------------------------------

    @property
    def places(self) -> Places:
        """For what is said of a mistake: the data at a place."""
        if self._places is None:
            from sexpgpu.compiler.frontend.places import Places  # a clean check does without
            self._places = Places(self.sources)
        return self._places

    def analyzer(self, module: Module) -> Analyzer:
        return self.analyzers[module.is_prelude]

    def training(self) -> bool:
        self.trace.asked_training = True
        return self.trace.training

    def gensym(self, prefix: str) -> str:
        """A name that no program can hold: a space is in it."""
        self._gensyms += 1
        return f"{prefix} {self._gensyms}"

    def callee(self, op: Op) -> Callee:
        known = self._callees.get(op.name)
        if known is None or known.params is not op.signature:
            known = self._callees[op.name] = Callee(op.name, op.signature, op.by_name, op.keyword_code)
        return known

    def check_names(self) -> None:
        """Once all definitions are known: every body is analysed, and names that nothing has are held for report."""
        for found in list(self.user.table.values()):
            value = self.global_value(found, found.span) if found.kind != "variable" else None
            if isinstance(value, Closure):
                value.code.body()
        for analyzer, name, span, names in self.unresolved:
            if analyzer.module.find(name) is None:
                analyzer.unknown_name(name, span, names, hold=True)
        self.unresolved.clear()

    # -- definitions --------------------------------------------------------------------------------------------------

    def global_value(self, found: Global, span: Span) -> object:
        """The value of a definition, used at `span`."""
        if found.state is State.READY:
            return found.value
        if found.kind != "variable":
            found.state = State.READY
            code = function_of(self.analyzer(found.module), found)
            found.value = POISON if code is None else Closure(code, None)
            return found.value
        if found.state is State.STAGED:
            found.state = State.BUSY   # one that is defined by itself was told of, and is met here again
            try:
                return self._initial(found)
            finally:
                found.state = State.STAGED
        if found.state is State.BELOW and found.module.is_prelude:
            return self.define(found)
        below = found.state is State.BELOW
        self.reporter.error("E-NAME-002", f"`{found.name}` is used before it has a value", span,
                            "its value is not known",
                            secondary=[Label(found.span, "defined below" if below else "defined by itself")],
                            fix="a `defvar` uses what stands above it: move it down" if below else None)
        return POISON

    def define(self, found: Global) -> object:
        """Evaluate a `defvar`."""
        found.state = State.BUSY
        outer_asked, self.trace.asked_training = self.trace.asked_training, False
        value = self._initial(found)
        staged = self.trace.asked_training or holds_tensors(value)
        self.trace.asked_training = outer_asked or self.trace.asked_training
        found.value, found.state = value, State.STAGED if staged else State.READY
        return value

    def _initial(self, found: Global) -> object:
        node = self._initializers.get(found)
        if node is None:
            node = self._initializers[found] = initializer_of(self.analyzer(found.module), found,
                                                              self.overrides.get(found.name))
        value = node([None])
        if isinstance(value, int) and not isinstance(value, bool):
            value = Dim(value, Origin(f"the defvar `{found.name}`", found.span))
        return value

    def expand(self, macro: Global, form: Form) -> Datum | None:
        """The expansion of a macro's call; None where it failed (reported)."""
        closure = self.global_value(macro, form.items[0].span)
        if not isinstance(closure, Closure):
            return None
        value = self.call(closure, CallShape.of(form), [to_value(d) for d in form.items[1:]], form.items[0].span)
        if has_poison(value):
            return None
        expansion = to_data(value, form.span)
        if expansion is None:
            self.reporter.error("E-VALUE-010", f"the macro `{macro.name}` gives a value that is no code", form.span,
                                "expands to what no program can hold", secondary=[Label(macro.span, "defined here")])
        return expansion

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, function: object, shape: CallShape, values: Sequence[object], head: Span) -> object:
        """Call a value that is known only now; `head` is the place it stands at."""
        if isinstance(function, Closure):
            slots, wrong, _ = bind(shape, function.code.callee)
            if not wrong:
                return self.invoke_closure(function, slots, shape, values)
        elif isinstance(function, Op):
            slots, wrong, _ = bind(shape, self.callee(function))
            if not wrong:
                return self.invoke_op(function, slots, shape, values)
        else:
            if function is not POISON:
                self.reporter.error("E-TYPE-015", "the first element of a call is no function", head, "not a function",
                                    fix="a list of values is written `[a b]` or `(list a b)`")
            return POISON
        for d in wrong:
            self.reporter.error(d.code, d.message, d.primary.span, d.primary.text, secondary=d.secondary, fix=d.fix,
                                tries=d.tries)
        return POISON

    def apply(self, function: object, values: Sequence[object], span: Span) -> object:
        """Call a function with positional values, from `span`."""
        count = len(values)
        return self.call(function, CallShape(span, (None,) * count, (span,) * count), values, span)

    def invoke_closure(self, closure: Closure, slots: Sequence[Slot], shape: CallShape,
                       values: Sequence[object]) -> object:
        code = closure.code
        body = code.body()
        calls = self.reporter.calls
        self.budget.call(code, shape.span)
        calls.append(Activation(code.name, shape.span))
        frame = code.scope.layout.frame(closure.frame)
        try:
            for at, slot in enumerate(slots, 1):
                if slot.__class__ is int:
                    frame[at] = values[slot]
                elif slot is None:
                    frame[at] = code.defaults[at - 1](frame)
                else:
                    frame[at] = tuple([values[i] for i in slot])
            return body(frame)
        finally:
            calls.pop()

    def invoke_op(self, op: Op, slots: Sequence[Slot], shape: CallShape, values: Sequence[object]) -> object:
        if op.poison != "any":
            inside = op.poison == "inside"
            for value in values:
                if value is POISON:
                    # Of a `&rest` it is an element like another.
                    if not (inside and op.signature.rest):
                        return POISON
                elif not inside and isinstance(value, tuple) and has_poison(value):
                    return POISON
        arguments = []
        for slot, parameter in zip(slots, op.signature.all, strict=True):
            if slot.__class__ is int:
                arguments.append(values[slot])
            elif slot is None:
                arguments.append(parameter.default)
            else:
                arguments.append(tuple([values[i] for i in slot]))
        if op.poison == "inside" and any(argument is POISON for argument in arguments):
            return POISON
        try:
            with self.location(shape.span):
                result = op.function(BuiltinCall(self, op, shape, slots), *arguments)
        except Failed:
            return POISON
        if result.__class__ is int:
            return Dim(result, Origin(f"this `{op.name}`", shape.span))
        return result
