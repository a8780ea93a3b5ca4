; RUN: cd %S && %sexpc check 027-constant-metric.sexp 2> %t
; RUN: %same 027-constant-metric.expected %t

(include "../Inputs/all-but-objective.sexp")

(defun objective (outputs targets)
  (metric :width (dim outputs 1))
  (mse outputs targets))
