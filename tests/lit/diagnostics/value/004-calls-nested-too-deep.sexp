; RUN: cd %S && not %sexpc check 004-calls-nested-too-deep.sexp 2> %t
; RUN: %same 004-calls-nested-too-deep.expected %t

(include "../Inputs/all-but-model.sexp")

(defun wide (x depth)
  (if (= depth 0) x (narrow (relu x) (- depth 1))))

(defun narrow (x depth)
  (wide (tanh x) (- depth 1)))

(defun model (x)
  (matmul (wide x 5) (param "w" [16 4] :init (normal 0.02))))
