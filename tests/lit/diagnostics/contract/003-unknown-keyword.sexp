; RUN: cd %S && not %sexpc check 003-unknown-keyword.sexp 2> %t
; RUN: %same 003-unknown-keyword.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"] :compression "zstd")]
          :fields [(field :x :shape [16]) (field :y :shape [4] :type :f32)]
          :batch-size 8
          :num-workers 4))
