; RUN: cd %S && not %sexpc check 001-string-swallows-a-string.sexp 2> %t
; RUN: %same 001-string-swallows-a-string.expected %t

; The quote after `features` is missing: every later quote is inside out.

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :from "features)]
          :batch-size 8))

(defun model (x)
  (matmul x (param "w" [3 1] :init zeros)))

(defvar note "0.0.1 is no number, and this is reported by nobody")
