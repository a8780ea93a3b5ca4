; A byte-level GPT of about one million parameters, on the source text of the Python standard library.
;
;   python examples/bytes-gpt/make_data.py
;   sexpc build examples/bytes-gpt/experiment.sexp -o bytes-gpt.vmfb
;   sexpgpu-run bytes-gpt.vmfb

(defvar seq 128)      ; bytes a row is read over
(defvar vocab 256)
(defvar width 128)
(defvar heads 4)
(defvar layers 5)
(defvar batch-size 16)

; ---- data --------------------------------------------------------------------------------------------------------

(defvar fields
  [(field :tokens :from "input_ids" :dtype :i32 :shape [129])])

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields fields
          :batch-size batch-size
          :shuffle 10_000
          :infinite true))

(defvar val-loader
  (loader :sources [(files ["data/val.parquet"])]
          :fields fields
          :batch-size batch-size
          :infinite true))

(defun prepare (batch)
  (let ((tokens (field batch :tokens)))
    (counter :tokens (* seq (dim tokens 0)))
    (list :inputs (slice tokens 1 0 seq)
          :targets (slice tokens 1 1 (+ seq 1)))))

; ---- model -------------------------------------------------------------------------------------------------------

(defun project (x name out)
  "x W + b over the last axis."
  (scope name
    (linear x
            (param "w" [(dim x -1) out] :init (normal 0.02))
            (param "b" [out] :init zeros :decay false))))

(defun norm (x name)
  (scope name
    (layer-norm x
                (param "gain" [width] :init ones :decay false)
                (param "bias" [width] :init zeros :decay false))))

(defun split-heads (x)
  "[batch time width] -> [batch heads time width/heads]"
  (transpose (reshape x [(dim x 0) seq heads (/ width heads)]) [0 2 1 3]))

(defun merge-heads (x)
  (reshape (transpose x [0 2 1 3]) [(dim x 0) seq width]))

(defun self-attention (x)
  (let ((q (split-heads (project x "q" width)))
        (k (split-heads (project x "k" width)))
        (v (split-heads (project x "v" width))))
    (project (merge-heads (attention q k v :causal true)) "out" width)))

(defun feed-forward (x)
  (-> x
      (project "up" (* 4 width))
      gelu
      (project "down" width)))

(defun block (x i)
  (scope "block" i
    (let* ((x (+ x (self-attention (norm x "norm-1")))))
      (+ x (feed-forward (norm x "norm-2"))))))

(defun model (tokens)
  (let* ((table (param "tokens" [vocab width] :init (normal 0.02)))
         (places (param "places" [seq width] :init (normal 0.02)))
         (x (reduce block (range layers) (+ (embedding table tokens) places))))
    (matmul (norm x "norm") (transpose table))))

; ---- training ----------------------------------------------------------------------------------------------------

(defun objective (outputs targets)
  (metric :accuracy (mean (cast (= (argmax outputs :axis -1) targets) :f32)))
  (cross-entropy outputs targets))

(defvar optimizer
  (adamw :lr (warmup 30 (cosine-decay 3e-3 :end 3e-4))
         :weight-decay 0.1
         :clip-norm 1.0))

(defvar evaluations
  [(evaluation :name "held-out" :loader val-loader :every 100 :batches 20 :at-end true)])

(defvar run (run :steps 300 :log-every 10))
