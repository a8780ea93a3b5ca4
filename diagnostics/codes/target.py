"""Codes of the TARGET family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-TARGET-001", "unknown target",
         "`--target` names no target: `cpu`, `cpu:<processor>`, `vulkan`, `cuda` or `cuda:sm_<number>`."),
    Code("E-TARGET-002", "unknown processor",
         "The part after `cpu:` is no processor that the code generator knows."),
    Code("E-TARGET-003", "unknown GPU architecture",
         "The part after `cuda:` is no architecture that code can be generated for."),
    Code("E-TARGET-004", "dtype that the target cannot run",
         "A tensor of the program has an element type that the target's code generator or device cannot work with."),
    Code("E-TARGET-005", "operation that the target cannot run",
         "The code generator is known to refuse this operation, or this form of it, on the target."),
)
