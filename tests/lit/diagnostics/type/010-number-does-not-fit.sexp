; RUN: cd %S && not %sexpc check 010-number-does-not-fit.sexp 2> %t
; RUN: %same 010-number-does-not-fit.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (let ((bytes (cast (field batch :label) :u8)))
    (list :inputs (field batch :x) :targets (+ bytes 300))))
