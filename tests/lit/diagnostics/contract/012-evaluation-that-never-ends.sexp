; RUN: cd %S && not %sexpc check 012-evaluation-that-never-ends.sexp 2> %t
; RUN: %same 012-evaluation-that-never-ends.expected %t

(include "../Inputs/all.sexp")

(defvar evaluations [(evaluation :name "val" :loader train-loader :every 100)])
