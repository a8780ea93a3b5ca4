; RUN: cd %S && not %sexpc check 015-not-a-function.sexp 2> %t
; RUN: %same 015-not-a-function.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 4)

(defun model (x)
  (width x))
