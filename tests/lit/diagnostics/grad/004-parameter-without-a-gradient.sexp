; RUN: cd %S && %sexpc check 004-parameter-without-a-gradient.sexp 2> %t
; RUN: %same 004-parameter-without-a-gradient.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (* (matmul x (param "w" [16 4])) (stop-gradient (param "scale" [4] :init ones))))
