; RUN: cd %S && not %sexpc check 018-pattern-matches-nothing.sexp 2> %t
; RUN: %same 018-pattern-matches-nothing.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer
  (sgd :lr 0.1 :groups [["embed*" :lr 0.01]]))
