; RUN: cd %S && not %sexpc check 006-outside-of-the-axis.sexp 2> %t
; RUN: %same 006-outside-of-the-axis.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (matmul (slice x 1 0 17) (param "w" [17 4] :init (normal 0.02))))
