; RUN: cd %S && not %sexpc check 013-pasted-characters.sexp 2> %t
; RUN: %same 013-pasted-characters.expected %t

(defvar name “bytes-gpt”)
(defvar width 64)
(defvar depth​ 4)
