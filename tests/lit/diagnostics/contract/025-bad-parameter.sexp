; RUN: cd %S && not %sexpc check 025-bad-parameter.sexp 2> %t
; RUN: %same 025-bad-parameter.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (matmul x (param "w" [16 4] :init (fn (shape) (zeros [4 16])))))
