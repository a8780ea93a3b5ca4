"""What keeps `sexpc check` under its time.

IREE's `ir` module imports NumPy, for conversions of attributes that nothing here uses, and would do without it. NumPy
is a third of a cold check, so it is hidden while `ir` is imported for the first time. `sexpc build` leaves all as it
is.
"""

from __future__ import annotations

import sys


def import_ir() -> None:
    """Imports `iree.compiler.ir`, without NumPy unless that is loaded already."""
    if "numpy" in sys.modules or "iree.compiler.ir" in sys.modules:
        return
    # The import system raises ImportError for a name that is bound to None; `ir` catches just that.
    sys.modules["numpy"] = None   # type: ignore[assignment]
    try:
        import iree.compiler.ir  # noqa: F401
    finally:
        del sys.modules["numpy"]
