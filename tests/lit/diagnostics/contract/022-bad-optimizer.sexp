; RUN: cd %S && not %sexpc check 022-bad-optimizer.sexp 2> %t
; RUN: %same 022-bad-optimizer.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer
  (optimizer :hyper (list :lr 0.1)
             :init (fn (p) (list :v (zeros-like p)))
             :update (fn (p g state hyper)
                       (list :param (- p (* (get hyper :lr) g)) :state (list :v (sum g))))))
