"""The registry: every code there is, its title and meaning, one module a family; append-only.

A code is never renumbered or reused. Adding one is adding a line to its family's table.
"""

from __future__ import annotations

from importlib import import_module

from sexpgpu.diagnostics.codes.code import EXIT_CODES, Code, exit_code

FAMILIES = ("read", "name", "arity", "type", "shape", "value", "contract", "grad", "target", "run", "data", "store",
            "artifact", "ckpt", "num", "ice")

CODES: dict[str, Code] = {}
for _family in FAMILIES:
    for _code in import_module(f"sexpgpu.diagnostics.codes.{_family}").TABLE:
        assert _code.name not in CODES, f"{_code.name} stands twice"
        CODES[_code.name] = _code

__all__ = ["CODES", "EXIT_CODES", "FAMILIES", "Code", "exit_code"]
