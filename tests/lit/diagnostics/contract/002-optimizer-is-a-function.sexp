; RUN: cd %S && not %sexpc check 002-optimizer-is-a-function.sexp 2> %t
; RUN: %same 002-optimizer-is-a-function.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defun optimizer (lr)
  (sgd :lr lr))
