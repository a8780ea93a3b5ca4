; RUN: cd %S && not %sexpc check 016-tensor-outside-of-the-graph.sexp 2> %t
; RUN: %same 016-tensor-outside-of-the-graph.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer
  (sgd :lr (fn (ctx) (* (get ctx :progress) (arange 4)))))
