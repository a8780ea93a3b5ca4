; RUN: cd %S && not %sexpc check 001-unterminated-string.sexp 2> %t
; RUN: %same 001-unterminated-string.expected %t

(defvar width 64)

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :from "features)]
          :batch-size 8))
