; RUN: cd %S && not %sexpc check 013-inputs-do-not-fit.sexp 2> %t
; RUN: %same 013-inputs-do-not-fit.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (list :inputs [(field batch :x) (field batch :label)] :targets (field batch :y)))
