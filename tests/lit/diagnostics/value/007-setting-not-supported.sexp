; RUN: cd %S && not %sexpc check 007-setting-not-supported.sexp 2> %t
; RUN: %same 007-setting-not-supported.expected %t

(include "../Inputs/all.sexp")

(defvar precision (precision :compute :f64))
