; RUN: cd %S && not %sexpc check 005-reshape-changes-the-number.sexp 2> %t
; RUN: %same 005-reshape-changes-the-number.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((grid (reshape x [(dim x 0) 4 5])))
    (sum (* grid (param "w" [4 5] :init (normal 0.02))) :axis [1 2])))
