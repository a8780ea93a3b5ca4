; RUN: cd %S && not %sexpc check 003-no-such-axis.sexp 2> %t
; RUN: %same 003-no-such-axis.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (softmax (matmul x (param "w" [16 4] :init (normal 0.02))) :axis 2))
