; RUN: cd %S && not %sexpc check 002-wrong-kind.sexp 2> %t
; RUN: %same 002-wrong-kind.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare ()
  (list :inputs 1 :targets 2))
