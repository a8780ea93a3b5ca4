; RUN: cd %S && not %sexpc check 006-integer-needed.sexp 2> %t
; RUN: %same 006-integer-needed.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 16)

(defun model (x)
  (matmul x (param "w" [width (/ width 3)] :init (normal 0.02))))
