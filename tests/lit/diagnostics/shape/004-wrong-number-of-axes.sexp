; RUN: cd %S && not %sexpc check 004-wrong-number-of-axes.sexp 2> %t
; RUN: %same 004-wrong-number-of-axes.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((padded (pad x [1 1])))
    (matmul padded (param "w" [18 4] :init (normal 0.02)))))
