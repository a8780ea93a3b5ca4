; RUN: cd %S && not %sexpc check 002-two-unclosed-definitions.sexp 2> %t
; RUN: %same 002-two-unclosed-definitions.expected %t

(defun scaled (x)
  (/ x 255.0)

(defun model (x)
  (relu (scaled x)))

(defun objective (outputs targets)
  (mse outputs targets)

(defvar optimizer (sgd :lr 0.1))
