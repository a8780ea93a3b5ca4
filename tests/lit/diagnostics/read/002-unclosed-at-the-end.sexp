; RUN: cd %S && not %sexpc check 002-unclosed-at-the-end.sexp 2> %t
; RUN: %same 002-unclosed-at-the-end.expected %t

(defvar layers 4)

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"
