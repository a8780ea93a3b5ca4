(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          ; allow W-CONTRACT-026
          :fields [(field :x :shape [16]) (field :y :shape [4]) (field :label :dtype :i32)]
          :batch-size 8
          :infinite true))

(defun prepare (batch)
  (list :inputs (field batch :x) :targets (field batch :y)))

(defun model (x)
  (matmul x (param "w" [16 4])))

(defun objective (outputs targets)
  (mse outputs targets))

(defvar optimizer (sgd :lr 1e-6))
