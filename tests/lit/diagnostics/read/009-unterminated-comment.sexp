; RUN: cd %S && not %sexpc check 009-unterminated-comment.sexp 2> %t
; RUN: %same 009-unterminated-comment.expected %t

(defvar width 64)

#| The model, #| as in the paper |#
(defun model (x)
  (relu x))
