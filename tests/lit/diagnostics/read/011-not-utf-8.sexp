; RUN: cd %S && not %sexpc check 011-not-utf-8.sexp 2> %t
; RUN: %same 011-not-utf-8.expected %t

(defvar name "größe")
