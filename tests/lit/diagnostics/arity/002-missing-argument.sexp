; RUN: cd %S && not %sexpc check 002-missing-argument.sexp 2> %t
; RUN: %same 002-missing-argument.expected %t

(include "../Inputs/all-but-model.sexp")

(defun dense (x width)
  (matmul x (param "w" [(dim x -1) width] :init (normal 0.02))))

(defun model (x)
  (softmax (matmul (dense x))))
