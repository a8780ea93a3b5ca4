; RUN: cd %S && not %sexpc check 014-file-includes-itself.sexp 2> %t
; RUN: %same 014-file-includes-itself.expected %t

(include "014-file-includes-itself.sexp")
