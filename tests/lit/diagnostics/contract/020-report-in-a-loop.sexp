; RUN: cd %S && not %sexpc check 020-report-in-a-loop.sexp 2> %t
; RUN: %same 020-report-in-a-loop.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (first (scan (fn (h i)
                 (metric :size (norm h))
                 (list (matmul h (param "w" [16 16])) nil))
               x nil :length 3)))
