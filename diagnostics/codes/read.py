"""Codes of the READ family: text that is no data, and files that are no text."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-READ-001", "unterminated string",
         "A string has no closing quote before the end of the file. Where the quotes of a later string show that an "
         "earlier one swallowed it, the earlier one is pointed at."),
    Code("E-READ-002", "unclosed bracket",
         "A `(` or `[` has no closing bracket. The indentation of the lines that follow tells which one it is and "
         "where it was meant to end."),
    Code("E-READ-003", "closing bracket without an opening one",
         "A `)` or `]` closes nothing: the form it was meant to close is closed already."),
    Code("E-READ-004", "mismatched bracket",
         "A `(` is closed by `]`, or a `[` by `)`."),
    Code("E-READ-005", "bad escape in a string",
         "Strings know the escapes `\\n`, `\\t`, `\\\"`, `\\\\` and `\\u{1F600}` (a Unicode scalar value in "
         "hexadecimal)."),
    Code("E-READ-006", "bad number",
         "What begins like a number is none: names do not begin with a digit, and numbers are written `42`, "
         "`1_000_000`, `1.5`, `1e-3`, `inf` or `nan`."),
    Code("E-READ-007", "not a token of the language",
         "A `#…` of another Lisp, a curly bracket, a bare colon or a name with a colon inside."),
    Code("E-READ-008", "a prefix before nothing",
         "`#;`, a quote, a quasiquote or an unquote stands before a closing bracket or the end of the file."),
    Code("E-READ-009", "unterminated block comment",
         "A `#|` has no `|#`. Block comments nest, so each `#|` inside one needs its own."),
    Code("E-READ-010", "file cannot be read",
         "The experiment's file, or one it includes, does not exist, is a folder or may not be read."),
    Code("E-READ-011", "file is not UTF-8",
         "Source files are UTF-8, with or without a byte order mark."),
    Code("E-READ-012", "nesting too deep",
         "Brackets and quotes nest deeper than 200. Programs that are written by hand do not; a generated one can name "
         "its parts."),
    Code("E-READ-013", "character that has no place here",
         "A control character, a typographic quote, a no-break space or another invisible character stands outside a "
         "string. They come with text copied from a web page."),
    Code("E-READ-014", "file includes itself",
         "An `include` leads back to a file that is being read."),
)
