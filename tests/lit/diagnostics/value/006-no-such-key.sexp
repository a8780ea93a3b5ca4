; RUN: cd %S && not %sexpc check 006-no-such-key.sexp 2> %t
; RUN: %same 006-no-such-key.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar config (list :width 4 :depth 2))

(defun model (x)
  (matmul x (param "w" [16 (get config :widht)] :init (normal 0.02))))
