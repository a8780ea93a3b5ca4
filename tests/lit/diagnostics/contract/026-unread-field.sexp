; RUN: cd %S && %sexpc check 026-unread-field.sexp 2> %t
; RUN: %same 026-unread-field.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [16])
                   (field :y :shape [4])
                   (field :weights :shape [4])
                   (field :id :dtype :i64)]   ; allow W-CONTRACT-026
          :batch-size 8))
