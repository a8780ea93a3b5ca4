"""Codes of the NUM family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-NUM-001", "loss is not finite",
         "A step's loss was NaN or infinite. The run stops before anything of that step is saved: the newest "
         "checkpoint is from before it."),
    Code("E-NUM-002", "gradient is not finite",
         "A step's loss was finite but the norm of its gradient was not, and the optimizer did not skip the update."),
    Code("E-NUM-003", "too many steps that are not finite",
         "As many updates in a row were skipped, or the run was rewound as often, as `--nonfinite-limit` allows."),
)
