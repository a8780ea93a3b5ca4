; RUN: cd %S && not %sexpc check 024-state-that-training-lacks.sexp 2> %t
; RUN: %same 024-state-that-training-lacks.expected %t

(include "../Inputs/all.sexp")

(defvar val-loader
  (loader :sources [(files ["data/val.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [4])]
          :batch-size 8 :infinite true))

(defvar evaluations [(evaluation :name "val" :loader val-loader :batches 10 :every 100)])

(defun evaluate (outputs targets)
  (mse (* outputs (param "scale" [4] :init ones)) targets))
