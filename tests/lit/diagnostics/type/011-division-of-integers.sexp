; RUN: cd %S && not %sexpc check 011-division-of-integers.sexp 2> %t
; RUN: %same 011-division-of-integers.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (list :inputs (field batch :x) :targets (/ (field batch :label) 2)))
