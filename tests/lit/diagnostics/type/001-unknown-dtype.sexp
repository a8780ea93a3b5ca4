; RUN: cd %S && not %sexpc check 001-unknown-dtype.sexp 2> %t
; RUN: %same 001-unknown-dtype.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (cast (matmul x (param "w" [16 4] :init (normal 0.02))) :float32))
