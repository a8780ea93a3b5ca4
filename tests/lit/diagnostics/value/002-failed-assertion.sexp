; RUN: cd %S && not %sexpc check 002-failed-assertion.sexp 2> %t
; RUN: %same 002-failed-assertion.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 100)
(defvar heads 8)

(defun model (x)
  (assert (= (mod width heads) 0) "the heads share the width evenly")
  (matmul x (param "w" [16 4] :init (normal 0.02))))
