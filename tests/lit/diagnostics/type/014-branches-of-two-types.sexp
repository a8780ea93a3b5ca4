; RUN: cd %S && not %sexpc check 014-branches-of-two-types.sexp 2> %t
; RUN: %same 014-branches-of-two-types.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (if (> (sum x) 0.0)
      (param "w" [16] :init (normal 0.02))
      (cast (param "v" [16] :init (normal 0.02)) :i32)))
