; RUN: cd %S && not %sexpc check 014-arithmetic-without-a-result.sexp 2> %t
; RUN: %same 014-arithmetic-without-a-result.expected %t

(include "../Inputs/all.sexp")

(defvar steps 0)
(defvar ratio (/ 1.0 steps))
