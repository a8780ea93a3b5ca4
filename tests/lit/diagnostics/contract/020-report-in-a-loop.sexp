; RUN: cd %S && not %sexpc check 020-report-in-a-loop.sexp 2> %t
; RUN: %same 020-report-in-a-loop.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (repeat 3 (fn (h i)
              (metric :size (norm h))
              (matmul h (param "w" [16 16])))
          x))
