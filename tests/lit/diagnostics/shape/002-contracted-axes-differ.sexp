; RUN: cd %S && not %sexpc check 002-contracted-axes-differ.sexp 2> %t
; RUN: %same 002-contracted-axes-differ.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 16)
(defvar hidden 32)

(defun model (x)
  (let* ((h (relu (matmul x (param "up" [width hidden] :init (normal 0.02)))))
         (down (param "down" [width 4] :init (normal 0.02))))
    (matmul h down)))
