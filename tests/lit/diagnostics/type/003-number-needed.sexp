; RUN: cd %S && not %sexpc check 003-number-needed.sexp 2> %t
; RUN: %same 003-number-needed.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (* x "0.5"))
