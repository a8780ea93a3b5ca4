; RUN: cd %S && not %sexpc check 008-bad-number.sexp 2> %t
; RUN: %same 008-bad-number.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [-1])]
          :batch-size 0
          :shuffle true))
