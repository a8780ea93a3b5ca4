; RUN: cd %S && not %sexpc check 001-index-out-of-range.sexp 2> %t
; RUN: %same 001-index-out-of-range.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar widths [16 32 4])

(defun model (x)
  (matmul x (param "w" [16 (nth widths 3)] :init (normal 0.02))))
