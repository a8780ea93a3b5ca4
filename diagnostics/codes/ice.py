"""Codes of the ICE family: our bugs."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-ICE-001", "internal error of a pass",
         "A pass of the compiler failed on a program that the checker had accepted. This is a bug in sexpgpu."),
    Code("E-ICE-002", "a pass left an invalid module",
         "The verifier found the module invalid after a pass, or a marker that should be gone. This is a bug in "
         "sexpgpu."),
    Code("E-ICE-003", "the code generator failed",
         "IREE refused the module that the passes left, for a reason that is not known to be the program's. The saved "
         "bundle reproduces it."),
    Code("E-ICE-004", "internal error of a command",
         "A command ended with an exception that nothing caught. This is a bug in sexpgpu. The saved bundle holds the "
         "traceback, the command line, the versions and the sources."),
)
