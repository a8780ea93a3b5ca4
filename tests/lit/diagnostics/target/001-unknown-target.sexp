; RUN: cd %S && not %sexpc check 001-unknown-target.sexp --target vlukan 2> %t
; RUN: %same 001-unknown-target.expected %t

(include "../Inputs/all.sexp")

(defvar width 4)
