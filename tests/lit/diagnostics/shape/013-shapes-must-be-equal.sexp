; RUN: cd %S && not %sexpc check 013-shapes-must-be-equal.sexp 2> %t
; RUN: %same 013-shapes-must-be-equal.expected %t

(include "../Inputs/all-but-objective.sexp")

(defun objective (outputs targets)
  (mse outputs (expand-dims targets 1)))
