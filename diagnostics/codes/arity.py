"""Codes of the ARITY family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-ARITY-001", "too many arguments", "A call has more positional arguments than the function takes."),
    Code("E-ARITY-002", "missing argument", "A call leaves out a required argument."),
    Code("E-ARITY-003", "unknown keyword", "A call names a keyword argument that the function does not have."),
    Code("E-ARITY-004", "keyword without a value", "A keyword argument stands last, with no value after it."),
    Code("E-ARITY-005", "argument given twice", "One argument is given twice: by name twice, or by place and by name."),
    Code("E-ARITY-006", "malformed special form",
         "A special form does not have the parts it is made of, such as a `let` whose bindings are no list of pairs."),
    Code("E-ARITY-007", "malformed parameter list",
         "A parameter list is not `required… &optional (x default)… &key (x default)… &rest xs`; `&optional` and "
         "`&key` together are refused."),
)
