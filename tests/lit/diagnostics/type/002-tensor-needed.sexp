; RUN: cd %S && not %sexpc check 002-tensor-needed.sexp 2> %t
; RUN: %same 002-tensor-needed.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (matmul x "w"))
