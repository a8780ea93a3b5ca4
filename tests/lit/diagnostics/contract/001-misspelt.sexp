; RUN: cd %S && not %sexpc check 001-misspelt.sexp 2> %t
; RUN: %same 001-misspelt.expected %t

(include "../Inputs/all-but-objective.sexp")

(defun objectve (outputs targets)
  (mse outputs targets))
