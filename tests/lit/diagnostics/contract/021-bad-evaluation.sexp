; RUN: cd %S && not %sexpc check 021-bad-evaluation.sexp 2> %t
; RUN: %same 021-bad-evaluation.expected %t

(include "../Inputs/all.sexp")

(defvar val-loader
  (loader :sources [(files ["data/val.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [4])]
          :batch-size 8))

(defvar evaluations
  [(evaluation :name "val" :loader val-loader :every "epoch")
   (evaluation :name "val" :loader val-loader :every 100)])
