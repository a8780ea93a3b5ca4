; RUN: cd %S && not %sexpc check 001-unknown-name.sexp 2> %t
; RUN: %same 001-unknown-name.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 4)

(defun model (x)
  (let ((w (param "w" [16 widht] :init (normal 0.02))))
    (matmull x w)))
