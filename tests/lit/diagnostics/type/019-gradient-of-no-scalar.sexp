; RUN: cd %S && not %sexpc check 019-gradient-of-no-scalar.sexp 2> %t
; RUN: %same 019-gradient-of-no-scalar.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((w (param "w" [16 4])))
    (gradient (fn (x) (tanh (matmul x w))) x)))
