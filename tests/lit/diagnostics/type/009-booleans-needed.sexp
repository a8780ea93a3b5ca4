; RUN: cd %S && not %sexpc check 009-booleans-needed.sexp 2> %t
; RUN: %same 009-booleans-needed.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (where x (param "w" [16] :init (normal 0.02)) 0.0))
