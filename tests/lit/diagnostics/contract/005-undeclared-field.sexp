; RUN: cd %S && not %sexpc check 005-undeclared-field.sexp 2> %t
; RUN: %same 005-undeclared-field.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (list :inputs (field batch :x) :targets (field batch :labels)))
