; RUN: cd %S && not %sexpc check 015-bad-stage.sexp 2> %t
; RUN: %same 015-bad-stage.expected %t

(include "../Inputs/all-but-loader.sexp")

(defvar fields [(field :x :shape [16]) (field :y :shape [4])])

(defvar train-loader
  (loader :stages [(stage :name "easy" :sources [(files ["data/easy.parquet"])] :infinite true)
                   (stage :name "hard" :sources [(files ["data/hard.parquet"])] :infinite true)]
          :fields fields
          :batch-size 8))

(defun curriculum (ctx)
  (if (< (get ctx :stage-step) 1000) "easy" "harder"))
