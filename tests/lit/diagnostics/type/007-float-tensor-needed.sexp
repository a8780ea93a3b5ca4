; RUN: cd %S && not %sexpc check 007-float-tensor-needed.sexp 2> %t
; RUN: %same 007-float-tensor-needed.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (list :inputs (field batch :x) :targets (softmax (field batch :label))))
