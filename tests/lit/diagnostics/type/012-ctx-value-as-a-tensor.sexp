; RUN: cd %S && not %sexpc check 012-ctx-value-as-a-tensor.sexp 2> %t
; RUN: %same 012-ctx-value-as-a-tensor.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer
  (sgd :lr (fn (ctx) (* 0.1 (mean (get ctx :loss))))))
