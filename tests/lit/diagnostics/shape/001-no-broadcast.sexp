; RUN: cd %S && not %sexpc check 001-no-broadcast.sexp 2> %t
; RUN: %same 001-no-broadcast.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((h (matmul x (param "w" [16 32] :init (normal 0.02))))
        (bias (param "b" [16] :init zeros)))
    (+ h bias)))
