; RUN: cd %S && not %sexpc check 005-integer-tensor-and-float.sexp 2> %t
; RUN: %same 005-integer-tensor-and-float.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (let ((label (field batch :label)))
    (list :inputs (field batch :x) :targets (* label 0.5))))
