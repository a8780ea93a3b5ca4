; RUN: cd %S && %sexpc check 019-looks-misspelt.sexp 2> %t
; RUN: %same 019-looks-misspelt.expected %t

(include "../Inputs/all.sexp")

(defun evalaute (outputs targets)
  (mean (abs (- outputs targets))))
