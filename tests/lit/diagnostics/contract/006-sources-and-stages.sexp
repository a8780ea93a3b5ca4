; RUN: cd %S && not %sexpc check 006-sources-and-stages.sexp 2> %t
; RUN: %same 006-sources-and-stages.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :stages [(stage :name "easy" :sources [(files ["data/easy.parquet"])])]
          :fields [(field :x :shape [16]) (field :y :shape [4])]
          :batch-size 8))
