"""What every layer says when it says no: one registry of codes and one `Diagnostic` value, rendered many ways.

Shared by the compiler, the runtime and the command lines; imports none of them and nothing heavy, so that a syntax
error costs no import of IREE, NumPy or rich.
"""

from sexpgpu.diagnostics.codes import CODES, EXIT_CODES, Code, exit_code
from sexpgpu.diagnostics.diagnostic import Clue, Diagnostic, Edit, Fix, Frame, Label, Severity, SexpError
from sexpgpu.diagnostics.span import SourceFile, SourceMap, Span
from sexpgpu.diagnostics.suggest import did_you_mean, one_of

__all__ = [
    "CODES",
    "EXIT_CODES",
    "Clue",
    "Code",
    "Diagnostic",
    "Edit",
    "Fix",
    "Frame",
    "Label",
    "Severity",
    "SexpError",
    "SourceFile",
    "SourceMap",
    "Span",
    "did_you_mean",
    "exit_code",
    "one_of",
]
