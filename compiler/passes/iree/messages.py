"""IREE's messages caught instead of printed: the C interface takes a callback, its Python face does not offer it."""

from __future__ import annotations

import ctypes

from iree.compiler.api import Invocation, ctypes_dl
from sexpgpu.compiler.passes.iree.errors import Complaint

#: `iree_compiler_diagnostic_severity_t`.
SEVERITIES = ("note", "warning", "error", "remark")

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p)


class Messages:
    """Collects what one invocation says. Must outlive the invocation: the library keeps a pointer into it."""

    def __init__(self, invocation: Invocation) -> None:
        self.complaints: list[Complaint] = []
        self._callback = _CALLBACK(self._take)
        enable = ctypes_dl._dylib.ireeCompilerInvocationEnableCallbackDiagnostics
        enable.restype = None
        enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _CALLBACK, ctypes.c_void_p]
        enable(invocation._inv_p, 0, self._callback, None)

    def _take(self, severity: int, text: ctypes._Pointer[ctypes.c_char], size: int, _: int) -> None:
        message = ctypes.string_at(text, size).decode("utf-8", "replace")
        self.complaints.append(Complaint(SEVERITIES[severity] if 0 <= severity < 4 else "error", message))
