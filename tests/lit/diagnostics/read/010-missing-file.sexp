; RUN: cd %S && not %sexpc check 010-missing-file.sexp 2> %t
; RUN: %same 010-missing-file.expected %t

(include "layers.sexp")
(include "nets/")
