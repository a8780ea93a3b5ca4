; RUN: cd %S && not %sexpc check 008-prefix-of-nothing.sexp 2> %t
; RUN: %same 008-prefix-of-nothing.expected %t

(defvar names '(a b '))

(defun model (x)
  (relu x) #;)

#;
