; RUN: cd %S && not %sexpc check 009-size-that-cannot-be.sexp 2> %t
; RUN: %same 009-size-that-cannot-be.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 16)

(defun model (x)
  (matmul x (param "w" [width (- 16 width)] :init (normal 0.02))))
