; Linear regression: find the three weights and the bias that made the data.
;
;   python examples/linear/make_data.py
;   sexpc build examples/linear/experiment.sexp -o linear.vmfb
;   sexpgpu-run linear.vmfb

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :shape [3])
                   (field :y)]
          :batch-size 32
          :shuffle 1_000
          :infinite true))

(defun prepare (batch)
  (list :inputs (field batch :x)
        :targets (field batch :y)))

(defun model (x)
  (+ (matmul x (param "w" [3] :init zeros))
     (param "b" [] :init zeros)))

(defun objective (outputs targets)
  (mse outputs targets))

(defvar optimizer (sgd :lr 0.1))

(defvar run (run :steps 200 :log-every 20))
