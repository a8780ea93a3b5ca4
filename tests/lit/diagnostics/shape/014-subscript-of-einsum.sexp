; RUN: cd %S && not %sexpc check 014-subscript-of-einsum.sexp 2> %t
; RUN: %same 014-subscript-of-einsum.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (einsum "bij,jk->bk" x (param "w" [16 4] :init (normal 0.02))))
