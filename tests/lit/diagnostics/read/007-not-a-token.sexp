; RUN: cd %S && not %sexpc check 007-not-a-token.sexp 2> %t
; RUN: %same 007-not-a-token.expected %t

(defvar causal #t)
(defvar options {:a 1})
(defvar key :)
(defvar lr: 0.1)
(defvar f #'relu)
(defvar pair (1 . 2))
