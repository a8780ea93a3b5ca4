; RUN: cd %S && not %sexpc check 017-bad-metric.sexp 2> %t
; RUN: %same 017-bad-metric.expected %t

(include "../Inputs/all-but-objective.sexp")

(defun objective (outputs targets)
  (let ((loss (mse outputs targets)))
    (metric :error (square (- outputs targets)))
    (metric :scale (mean outputs) :reduce :median)
    (metric :loss loss)
    loss))
