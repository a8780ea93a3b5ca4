; RUN: cd %S && not %sexpc check 006-unknown-buffer.sexp 2> %t
; RUN: %same 006-unknown-buffer.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((mean-x (buffer "mean" [16] :init zeros)))
    (update-buffer "means" (mean x :axis 0))
    (matmul (- x mean-x) (param "w" [16 4] :init (normal 0.02)))))
