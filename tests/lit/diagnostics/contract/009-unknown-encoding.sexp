; RUN: cd %S && not %sexpc check 009-unknown-encoding.sexp 2> %t
; RUN: %same 009-unknown-encoding.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar train-loader
  (loader :sources [(files ["data/train.csv"]) (files ["data/more"] :encoding "arrow")]
          :fields [(field :x :shape [16]) (field :y :shape [4])]
          :batch-size 8))
