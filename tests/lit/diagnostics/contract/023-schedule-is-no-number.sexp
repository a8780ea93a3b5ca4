; RUN: cd %S && not %sexpc check 023-schedule-is-no-number.sexp 2> %t
; RUN: %same 023-schedule-is-no-number.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer
  (sgd :lr (fn (ctx) (if (< (get ctx :step) 100) "warm" "cold"))))
