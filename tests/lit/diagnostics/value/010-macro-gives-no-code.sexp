; RUN: cd %S && not %sexpc check 010-macro-gives-no-code.sexp 2> %t
; RUN: %same 010-macro-gives-no-code.expected %t

(include "../Inputs/all.sexp")

(defmacro twice (x)
  (fn (y) y))

(defvar four (twice 2))
