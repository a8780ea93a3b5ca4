; RUN: cd %S && not %sexpc check 003-error-in-an-expansion.sexp 2> %t
; RUN: %same 003-error-in-an-expansion.expected %t

(include "../Inputs/all.sexp")

(defmacro positive (x)
  `(if (> ,x 0) ,x (error "not positive")))

(defmacro both (a b)
  `(list (positive ,a) (positive ,b)))

(defvar sizes (both 3 -4))
