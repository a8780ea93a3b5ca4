; RUN: cd %S && not %sexpc check 001-too-many-arguments.sexp 2> %t
; RUN: %same 001-too-many-arguments.expected %t

(include "../Inputs/all-but-model.sexp")

(defun dense (x width)
  (matmul x (param "w" [(dim x -1) width] :init (normal 0.02))))

(defun model (x)
  (relu (dense x 4 true)))
