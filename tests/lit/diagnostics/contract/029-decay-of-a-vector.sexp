; RUN: cd %S && %sexpc check 029-decay-of-a-vector.sexp 2> %t
; RUN: %same 029-decay-of-a-vector.expected %t

(include "../Inputs/loader.sexp")
(include "../Inputs/prepare.sexp")
(include "../Inputs/objective.sexp")
(include "../Inputs/adamw.sexp")

(defun model (x)
  (linear x (param "w" [16 4]) (param "b" [4] :init zeros)))

