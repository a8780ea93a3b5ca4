"""What keeps a check under its time: IREE's bindings without what they import and never need for staging.

`iree.compiler.ir` imports NumPy for conversions of attributes that nothing here uses, and would do without it;
`iree.compiler` imports its command-line tools. Together they are half of that import, so both are hidden while `ir` is
imported for the first time. Where a module will be compiled afterwards, all is left as it is.
"""

from __future__ import annotations

import sys
from types import ModuleType

_TOOLS = "iree.compiler.tools"


def import_ir() -> None:
    """Imports `iree.compiler.ir`, leaner where it is not imported yet."""
    if "iree.compiler" in sys.modules:
        return
    hidden = [name for name in ("numpy", _TOOLS) if name not in sys.modules]
    if "numpy" in hidden:
        # The import system raises ImportError for a name that is bound to None; `ir` catches just that.
        sys.modules["numpy"] = None   # type: ignore[assignment]
    sys.modules[_TOOLS] = sys.modules.get(_TOOLS) or ModuleType(_TOOLS)
    try:
        import iree.compiler.ir  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]
