; RUN: cd %S && not %sexpc check 005-too-many-steps.sexp 2> %t
; RUN: %same 005-too-many-steps.expected %t

(include "../Inputs/all.sexp")

(defvar table (map (fn (i) (* i i)) (range 1_000_000_000)))
