; Three interleaved spirals in the plane, told apart by a small perceptron.
;
;   python examples/spirals/make_data.py
;   sexpc build examples/spirals/experiment.sexp -o spirals.vmfb
;   sexpgpu-run spirals.vmfb

(defvar width 64)
(defvar classes 3)
(defvar rate 0.05)      ; of dropout

(defvar fields
  [(field :point :shape [2])
   (field :label :dtype :i32)])

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields fields
          :batch-size 64
          :shuffle 3_000
          :infinite true))

(defvar test-loader
  (loader :sources [(files ["data/test.parquet"])]
          :fields fields
          :batch-size 64))

(defun prepare (batch)
  (list :inputs (field batch :point)
        :targets (field batch :label)))

(defun dense (x name out)
  (scope name
    (linear x
            (param "w" [(dim x -1) out] :init (he-normal))
            (param "b" [out] :init zeros :decay false))))

(defun model (x)
  (-> x
      (dense "first" width)
      relu
      (dense "second" width)
      relu
      (dropout rate)
      (dense "third" classes)))

(defun objective (outputs targets)
  (metric :accuracy (mean (cast (= (argmax outputs :axis -1) targets) :f32)))
  (cross-entropy outputs targets))

(defvar optimizer (adamw :lr (warmup 20 (cosine-decay 1e-2)) :weight-decay 1e-3))

; The whole of the held-out file, every row once: the last batch is a part of one.
(defvar evaluations
  [(evaluation :name "test" :loader test-loader :every 100 :at-start true :at-end true)])

(defvar run (run :steps 600 :log-every 50))
