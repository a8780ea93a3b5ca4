"""The table of built-in functions: how an entry is written, and what its function is given.

An entry is one Python function under `@op`: it checks its arguments (shape and dtype rules, with diagnostics) and
stages the result through `compiler.hlo`. The evaluator binds arguments to the lambda list, makes a `Call`, sets the
MLIR location and insertion point, and calls it. Poisoned arguments never reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from sexpgpu.compiler.frontend.lambda_list import LambdaList, parse_signature
from sexpgpu.compiler.frontend.values import Origin
from sexpgpu.diagnostics import Clue, Fix, Label, Span
from sexpgpu.diagnostics.record import record

if TYPE_CHECKING:
    from iree.compiler import ir


class Failed(Exception):
    """Raised by `Call.fail` after the diagnostic was recorded; the evaluator turns the call into poison."""


class Call(Protocol):
    """One call of a built-in: where it stands and how it speaks to the user."""

    op: Op
    span: Span

    @property
    def maker(self) -> Origin:
        """What the result comes from, as a note says it: this operation, or the user's call of the function of the
        prelude that it stands in."""

    @property
    def training(self) -> bool:
        """What `training?` is here: false while an evaluation is traced."""

    @property
    def in_graph(self) -> bool:
        """Whether tensors may be staged here: not in the functions of `ctx`. At the top level they may: a `defvar`
        that holds tensors is staged again wherever it is used."""

    def site(self) -> int:
        """The next `site` of a `random` marker, unique in the function that is being traced."""

    def rounds(self) -> Sequence[ir.Value]:
        """The number of the round of the loops around the place, an i32 scalar; nothing outside of loops."""

    def where(self, parameter: str, index: int | None = None) -> Span:
        """The argument's own span (`index`: of an element of a `&rest` parameter); the call's when it was defaulted."""

    def item(self, parameter: str, index: int) -> Span:
        """The place of an element of an argument that is a vector as written; else the argument's."""

    def written(self, span: Span) -> list[Label]:
        """Where the value of a name that stands at `span` is written, as a label."""

    def fail(self, code: str, message: str, *, at: Span | None = None, label: str = "",
             secondary: Sequence[Label] = (), notes: Sequence[str] = (), fix: Fix | str | None = None,
             tries: Sequence[Fix] = (), clues: Sequence[Clue] = (), around: Sequence[Span] = ()) -> NoReturn:
        """Record an error (primary span `at`, the call's by default) and end this call."""

    def apply(self, function: object, *args: object) -> object:
        """Call a function value of the language (a closure or a built-in) with compile-time or staged values."""


@record
class Op:
    """`signature` is the lambda list as the manual shows it (`"x &key axis (keep false)"`); every argument may also be
    given by name. `rule` is the rule line (`"[… m k] [… k n] -> [… m n]"`), `grad` is `"yes"` or says why there is
    none, `doc` is one sentence, `group` is the manual's group.

    `by_name` false: required and optional arguments are given by position only, so that a keyword can stand there as a
    value (`(get plist :key)`). `poison` is `"inside"` where the function takes lists with poison in them (`list` does,
    so that one wrong element does not silence the others), `"any"` where it takes poison itself. `keyword_code` is the
    code of an unknown keyword.
    """

    name: str
    group: str
    signature: LambdaList
    rule: str
    grad: str
    doc: str
    function: Callable[..., object]
    by_name: bool = True
    poison: Literal["no", "inside", "any"] = "no"
    keyword_code: str = "E-ARITY-003"


#: Every built-in function by name.
OPS: dict[str, Op] = {}


def op(name: str, signature: str, *, group: str, doc: str, rule: str = "", grad: str = "yes", by_name: bool = True,
       poison: Literal["no", "inside", "any"] = "no", keyword_code: str = "E-ARITY-003") -> Callable:
    """Enter the decorated `function(call, *arguments)` into the table. Python arguments are positional, in the order
    of the lambda list; a `&rest` parameter is one tuple."""

    def enter(function: Callable[..., object]) -> Callable[..., object]:
        assert name not in OPS, f"`{name}` stands twice"
        OPS[name] = Op(name, group, parse_signature(signature), rule, grad, doc, function, by_name, poison,
                       keyword_code)
        return function

    return enter
