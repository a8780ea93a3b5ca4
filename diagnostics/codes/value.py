"""Codes of the VALUE family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-VALUE-001", "index out of range", "An index lies past the end of a list or a string."),
    Code("E-VALUE-002", "failed assertion", "The condition of an `assert` is false."),
    Code("E-VALUE-003", "error raised by the program", "The program called `error`."),
    Code("E-VALUE-004", "calls nested too deep",
         "Functions call each other deeper than the stated limit: a recursion that does not end, most likely."),
    Code("E-VALUE-005", "too many compile-time steps",
         "A list or loop at compile time is longer than the stated limit."),
    Code("E-VALUE-006", "no such key", "`get` without a default asks a plist for a key that it does not have."),
    Code("E-VALUE-007", "setting that is not supported", "A setting has a value that this version cannot honour."),
    Code("E-VALUE-008", "one name, two declarations",
         "The same parameter, buffer or schedule is declared twice with different settings."),
    Code("E-VALUE-009", "forms nested too deep", "Brackets are nested deeper than the stated limit."),
    Code("E-VALUE-010", "macro that gives no code", "A macro's expansion is a value that cannot stand in a program."),
    Code("E-VALUE-014", "arithmetic without a result",
         "Compile-time arithmetic has no result: a division by zero, a number too large for a float, the integer "
         "nearest to infinity."),
    Code("E-VALUE-015", "f16 without loss scaling",
         "`precision` computes in f16, whose smallest number a gradient falls below, and scales no loss. "
         "`:loss-scale :dynamic`, or `:compute :bf16`."),
)
