; RUN: cd %S && not %sexpc check 003-unknown-keyword.sexp 2> %t
; RUN: %same 003-unknown-keyword.expected %t

(include "../Inputs/all-but-model.sexp")

(defun dense (x width &key (bias true))
  (matmul x (param "w" [(dim x -1) width] :init (normal 0.02))))

(defun model (x)
  (sum (dense x 4 :biass false) :axes 1))
