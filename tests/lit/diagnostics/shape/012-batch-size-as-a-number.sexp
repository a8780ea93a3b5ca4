; RUN: cd %S && not %sexpc check 012-batch-size-as-a-number.sexp 2> %t
; RUN: %same 012-batch-size-as-a-number.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar val-loader
  (loader :sources [(files ["data/val.parquet"])]
          :fields [(field :x :shape [16]) (field :y :shape [4])]
          :batch-size 8))

(defvar evaluations [(evaluation :name "val" :loader val-loader :every 100)])

(defun model (x)
  (let ((grid (reshape x [8 4 4])))
    (sum (* grid (param "w" [4] :init (normal 0.02))) :axis 2)))
