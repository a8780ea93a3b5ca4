; RUN: cd %S && not %sexpc check 004-override-of-nothing.sexp -D widht=128 2> %t
; RUN: %same 004-override-of-nothing.expected %t

(include "../Inputs/all.sexp")

(defvar width 64)
