; RUN: cd %S && not %sexpc check 009-forms-nested-too-deep.sexp 2> %t
; RUN: %same 009-forms-nested-too-deep.expected %t

(include "../Inputs/all.sexp")

(defmacro nested (n)
  (if (= n 0) 1 `(+ 1 (nested ,(- n 1)))))

(defvar deep (nested 1000))
