; RUN: cd %S && not %sexpc check 008-one-name-two-declarations.sexp 2> %t
; RUN: %same 008-one-name-two-declarations.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((a (param "w" [16 4] :init zeros))
        (b (param "w" [16 4] :init (normal 0.02))))
    (matmul x (+ a b))))
