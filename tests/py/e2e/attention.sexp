; Attention alone, causal, in one block of queries: probabilities of 16 · 8 · 240 · 240 numbers, 28 MiB a layer.

(defvar layers 2)
(defvar seq 240)
(defvar rate 0)

(defvar train-loader
  (loader :sources [(files ["none.parquet"])] :fields [(field :x :shape [8 seq 8])] :batch-size 16 :infinite true))

(defun prepare (batch) (list :inputs (field batch :x) :targets (field batch :x)))

(defun layer (x i)
  (scope "layer" i
    (attention (* x (param "q" [8] :init (normal 1.0))) (* x (param "k" [8] :init (normal 1.0))) x
               :causal true :dropout rate)))

(defun model (x) (reduce layer (range layers) x))
(defun objective (outputs targets) (mse outputs targets))
(defvar optimizer (sgd :lr 0.01))
