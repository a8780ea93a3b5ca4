; RUN: cd %S && not %sexpc check 002-used-before-its-value.sexp 2> %t
; RUN: %same 002-used-before-its-value.expected %t

(include "../Inputs/all.sexp")

(defvar hidden (* 4 width))
(defvar width 64)
