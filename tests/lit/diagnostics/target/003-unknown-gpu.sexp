; RUN: cd %S && not %sexpc check 003-unknown-gpu.sexp --target cuda:sm_42 2> %t
; RUN: %same 003-unknown-gpu.expected %t

(include "../Inputs/all.sexp")

(defvar width 4)
