; RUN: cd %S && not %sexpc check 007-field-twice.sexp 2> %t
; RUN: %same 007-field-twice.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [4]) (field :x :shape [4])]
          :batch-size 8))
