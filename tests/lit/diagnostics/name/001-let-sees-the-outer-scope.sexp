; RUN: cd %S && not %sexpc check 001-let-sees-the-outer-scope.sexp 2> %t
; RUN: %same 001-let-sees-the-outer-scope.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((h (matmul x (param "w" [16 4] :init (normal 0.02))))
        (a (relu h)))
    a))
