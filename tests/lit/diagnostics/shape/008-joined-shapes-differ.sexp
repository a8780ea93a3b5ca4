; RUN: cd %S && not %sexpc check 008-joined-shapes-differ.sexp 2> %t
; RUN: %same 008-joined-shapes-differ.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((a (matmul x (param "a" [16 4] :init (normal 0.02))))
        (b (matmul x (param "b" [16 3] :init (normal 0.02)))))
    (concat [a b] :axis 0)))
