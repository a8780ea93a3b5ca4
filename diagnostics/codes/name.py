"""Codes of the NAME family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-NAME-001", "unknown name",
         "A name is used that is neither bound around the place, nor defined at the top level, nor a function of the "
         "language."),
    Code("E-NAME-002", "definition used before its value",
         "A `defvar` may use what stands above it: this one's value is needed before it is known."),
    Code("E-NAME-003", "name defined twice",
         "Two top-level definitions have one name, or one binding list binds a name twice."),
    Code("E-NAME-004", "override of no definition",
         "`-D name=value` replaces the value of a `defvar`, and the experiment has none of that name."),
    Code("E-NAME-005", "name that cannot be defined",
         "The name belongs to a special form, so a definition of it could never be called."),
    Code("E-NAME-006", "unknown buffer",
         "`update-buffer` names a buffer that no `buffer` form declared before it."),
    Code("W-NAME-007", "definition hidden by a `let`",
         "A `let` binds the name of a `defvar` to something else: inside it the name means the new value, while other "
         "functions still see the old one. A value made of the old one (`(let ((width (/ width 2))) …)`) and a "
         "parameter of that name are not warned of."),
)
