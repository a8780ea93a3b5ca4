; RUN: cd %S && not %sexpc check 004-mismatched-bracket.sexp 2> %t
; RUN: %same 004-mismatched-bracket.expected %t

(defvar shape [8 (* 2 3])

(defun model (x)
  (reshape x [(dim x 0) -1)])
