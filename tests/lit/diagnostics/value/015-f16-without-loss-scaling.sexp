; RUN: cd %S && not %sexpc check 015-f16-without-loss-scaling.sexp 2> %t
; RUN: %same 015-f16-without-loss-scaling.expected %t

(include "../Inputs/all.sexp")

(defvar precision (precision :compute :f16))
