; RUN: cd %S && %sexpc check 028-schedule-longer-than-the-run.sexp 2> %t
; RUN: %same 028-schedule-longer-than-the-run.expected %t

(include "../Inputs/all-but-optimizer.sexp")

(defvar optimizer (sgd :lr (warmup 500 (cosine-decay 0.1))))

(defvar run (run :steps 100))
