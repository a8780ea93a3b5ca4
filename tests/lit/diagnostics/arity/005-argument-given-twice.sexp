; RUN: cd %S && not %sexpc check 005-argument-given-twice.sexp 2> %t
; RUN: %same 005-argument-given-twice.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (softmax (matmul x (param "w" [16 4] :init (normal 0.02))) :axis 0 :axis 1))
