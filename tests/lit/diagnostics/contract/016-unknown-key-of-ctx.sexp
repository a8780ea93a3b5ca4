; RUN: cd %S && not %sexpc check 016-unknown-key-of-ctx.sexp 2> %t
; RUN: %same 016-unknown-key-of-ctx.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer
  (sgd :lr (fn (ctx) (* 0.1 (- 1.0 (get ctx :progres))))))
