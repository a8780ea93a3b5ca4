; RUN: cd %S && not %sexpc check 004-two-dtypes-meet.sexp 2> %t
; RUN: %same 004-two-dtypes-meet.expected %t

(include "../Inputs/all-but-objective.sexp")

(defun objective (outputs targets)
  (mean (* outputs (cast targets :bf16))))
