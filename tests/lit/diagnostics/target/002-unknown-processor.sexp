; REQUIRES: x86_64
; RUN: cd %S && not %sexpc check 002-unknown-processor.sexp --target cpu:znver9 2> %t
; RUN: %same 002-unknown-processor.expected %t

(include "../Inputs/all.sexp")

(defvar width 4)
