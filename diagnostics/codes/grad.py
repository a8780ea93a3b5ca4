"""Codes of the GRAD family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-GRAD-001", "operation without a derivative",
         "The loss depends on a trainable parameter through an operation that has no derivative rule. Cut the path "
         "with `stop-gradient`, or use another operation."),
    Code("E-GRAD-002", "loss reaches no parameter",
         "No trainable parameter influences the loss, so there is nothing to train: every path is cut by an integer, "
         "a comparison or `stop-gradient`, or the model declares no trainable parameter."),
    Code("E-GRAD-003", "loop without a derivative",
         "The loss depends on a parameter through a loop whose number of rounds is not a number known at compile "
         "time. Use `scan` or `repeat`, whose length is fixed."),
    Code("W-GRAD-004", "parameter without a gradient",
         "A trainable parameter is declared and nothing that has a derivative uses it: training leaves it as it was."),
)
