; RUN: cd %S && not %sexpc check 018-carried-value-changes-its-type.sexp 2> %t
; RUN: %same 018-carried-value-changes-its-type.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let ((h (param "h" [16])))
    (first (scan (fn (h row) (list (matmul h (param "w" [16 4])) nil)) h x))))
