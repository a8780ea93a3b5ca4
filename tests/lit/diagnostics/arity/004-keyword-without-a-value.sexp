; RUN: cd %S && not %sexpc check 004-keyword-without-a-value.sexp 2> %t
; RUN: %same 004-keyword-without-a-value.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (softmax (matmul x (param "w" [16 4] :init (normal 0.02))) :axis))
