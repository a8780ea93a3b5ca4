; RUN: cd %S && not %sexpc check 010-counter-outside-prepare.sexp 2> %t
; RUN: %same 010-counter-outside-prepare.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (counter :records-seen (dim x 0))
  (matmul x (param "w" [16 4] :init (normal 0.02))))
