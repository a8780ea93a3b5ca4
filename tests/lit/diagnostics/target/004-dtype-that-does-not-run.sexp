; RUN: cd %S && not %sexpc check 004-dtype-that-does-not-run.sexp --target vulkan 2> %t
; RUN: %same 004-dtype-that-does-not-run.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((w (param "w" [16 4] :init (normal 0.02))))
    (cast (matmul (cast x :f64) (cast w :f64)) :f32)))
