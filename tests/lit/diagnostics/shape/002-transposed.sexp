; RUN: cd %S && not %sexpc check 002-transposed.sexp 2> %t
; RUN: %same 002-transposed.expected %t

(include "../Inputs/all-but-model.sexp")

(defun head (x)
  (matmul x (param "w" [4 16] :init (normal 0.02))))

(defun model (x)
  (head (relu x)))
