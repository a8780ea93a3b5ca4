; RUN: cd %S && not %sexpc check 005-cannot-be-defined.sexp 2> %t
; RUN: %same 005-cannot-be-defined.expected %t

(include "../Inputs/all.sexp")

(defun if (x y)
  (+ x y))
