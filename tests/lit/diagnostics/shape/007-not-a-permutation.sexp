; RUN: cd %S && not %sexpc check 007-not-a-permutation.sexp 2> %t
; RUN: %same 007-not-a-permutation.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((grid (reshape x [(dim x 0) 4 4])))
    (sum (transpose grid [0 2]) :axis 1)))
