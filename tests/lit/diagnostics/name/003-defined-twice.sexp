; RUN: cd %S && not %sexpc check 003-defined-twice.sexp 2> %t
; RUN: %same 003-defined-twice.expected %t

(include "../Inputs/all.sexp")

(defvar width 64)

(defun width (x)
  (dim x -1))

(defun area (a b)
  (let ((n (* a b))
        (n (+ a b)))
    n))
