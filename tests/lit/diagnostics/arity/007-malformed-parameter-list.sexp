; RUN: cd %S && not %sexpc check 007-malformed-parameter-list.sexp 2> %t
; RUN: %same 007-malformed-parameter-list.expected %t

(include "../Inputs/all.sexp")

(defun dense (x &key (bias true) &optional (width 4))
  x)
