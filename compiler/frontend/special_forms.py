"""Every special form of the language: importing this fills `special.SPECIAL`."""

from sexpgpu.compiler.frontend import (  # noqa: F401
    special_binding,
    special_control,
    special_quote,
    special_remat,
    special_scope,
)
