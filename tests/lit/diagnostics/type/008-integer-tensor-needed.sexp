; RUN: cd %S && not %sexpc check 008-integer-tensor-needed.sexp 2> %t
; RUN: %same 008-integer-tensor-needed.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (embedding (param "table" [100 4] :init (normal 0.02)) x))
