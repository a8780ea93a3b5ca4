; RUN: cd %S && not %sexpc check 014-loss-is-no-scalar.sexp 2> %t
; RUN: %same 014-loss-is-no-scalar.expected %t

(include "../Inputs/all-but-objective.sexp")

(defun objective (outputs targets)
  (mean (square (- outputs targets)) :axis 1))
