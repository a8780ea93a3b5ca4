; RUN: cd %S && not %sexpc check 011-does-not-divide.sexp 2> %t
; RUN: %same 011-does-not-divide.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (first (split (matmul x (param "w" [16 10] :init (normal 0.02))) 4 :axis 1)))
