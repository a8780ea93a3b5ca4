"""What keeps a check under its time: IREE's bindings without what they import and never need for staging.

`iree.compiler.ir` imports NumPy for conversions of attributes that nothing here uses, and would do without it;
`iree.compiler` imports its command-line tools; the first operation of a dialect imports a class for each of its
operations. Together they are more than half of that import, so all are hidden while a check runs. Where a module will
be compiled afterwards, all is left as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_TOOLS = "iree.compiler.tools"
#: What staging makes operations of, by their names.
_DIALECTS = tuple(f"iree.compiler.dialects.{name}" for name in ("arith", "builtin", "func", "math", "scf"))


@contextmanager
def lean_ir() -> Iterator[None]:
    """`iree.compiler.ir` is imported when the block begins, leaner where it was not imported before."""
    if "iree.compiler" in sys.modules:
        yield
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)   # the compiler's library has more symbols than a check calls
    # The import system raises ImportError for a name that is bound to None; `ir` catches just that.
    with _hidden(("numpy",), None), _hidden((_TOOLS,), ModuleType(_TOOLS)):
        try:
            import iree.compiler.ir  # noqa: F401
        finally:
            sys.setdlopenflags(flags)
    with _hidden(_DIALECTS, ModuleType("")):
        yield


@contextmanager
def _hidden(names: tuple[str, ...], stand_in: ModuleType | None) -> Iterator[None]:
    """What is not imported yet is not imported inside: `stand_in` is found in its place."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = stand_in   # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
