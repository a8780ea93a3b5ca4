; RUN: cd %S && not %sexpc check 010-one-parameter-two-shapes.sexp 2> %t
; RUN: %same 010-one-parameter-two-shapes.expected %t

(include "../Inputs/all-but-model.sexp")

(defun dense (x width)
  (relu (matmul x (param "w" [(dim x -1) width] :init (normal 0.02)))))

(defun model (x)
  (dense (dense x 32) 4))
