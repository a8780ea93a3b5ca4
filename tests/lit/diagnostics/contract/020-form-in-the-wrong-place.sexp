; RUN: cd %S && not %sexpc check 020-form-in-the-wrong-place.sexp 2> %t
; RUN: %same 020-form-in-the-wrong-place.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar w (param "w" [16 4] :init (normal 0.02)))

(defun model (x)
  (matmul x w))
