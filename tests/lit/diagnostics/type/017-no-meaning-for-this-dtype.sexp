; RUN: cd %S && not %sexpc check 017-no-meaning-for-this-dtype.sexp 2> %t
; RUN: %same 017-no-meaning-for-this-dtype.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (matmul (> x 0) (param "w" [16 4] :init (normal 0.02))))
