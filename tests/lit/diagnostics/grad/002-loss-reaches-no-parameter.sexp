; RUN: cd %S && not %sexpc check 002-loss-reaches-no-parameter.sexp 2> %t
; RUN: %same 002-loss-reaches-no-parameter.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let* ((logits (matmul x (param "w" [16 4] :init (normal 0.02))))
         (class (argmax logits :axis -1)))
    (one-hot class 4)))
