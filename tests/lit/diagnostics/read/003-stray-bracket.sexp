; RUN: cd %S && not %sexpc check 003-stray-bracket.sexp 2> %t
; RUN: %same 003-stray-bracket.expected %t

(defun model (x)
  (let ((h (relu x))))
    (softmax h)))

(defvar layers 4)))
