; RUN: cd %S && not %sexpc check 011-bad-counter.sexp 2> %t
; RUN: %same 011-bad-counter.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (let ((x (field batch :x)))
    (counter :values x)
    (counter :rows (dim x 0))
    (counter :rows (numel x))
    (counter :records (dim x 0))
    (list :inputs x :targets (field batch :y))))
