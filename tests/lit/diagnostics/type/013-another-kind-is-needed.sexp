; RUN: cd %S && not %sexpc check 013-another-kind-is-needed.sexp 2> %t
; RUN: %same 013-another-kind-is-needed.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar widths (map (fn (n) (* 2 n)) 16))

(defun model (x)
  (matmul x (param "w" [16 4] :init (normal 0.02))))
