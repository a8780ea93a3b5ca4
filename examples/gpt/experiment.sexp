; A GPT over tokens of 1,024 positions. `train-loader` and `prepare` are the manual's own, word for word.

(defvar seq 1024)
(defvar vocab 50304)
(defvar width 256)
(defvar heads 8)
(defvar layers 4)

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :tokens :from "input_ids" :dtype :i32 :shape [1025])]
          :batch-size 4
          :infinite true))

(defun prepare (batch)
  (let ((tokens (field batch :tokens)))
    (counter :tokens (numel tokens))
    (list :inputs (slice tokens 1 0 seq)
          :targets (slice tokens 1 1 (+ seq 1)))))

(defun weight (name rows columns)
  (param name [rows columns] :init (normal 0.02)))

(defun norm (x name)
  (rms-norm x (param name [width] :init ones :decay false)))

(defun split-heads (x)
  (transpose (reshape x [(dim x 0) seq heads (/ width heads)]) [0 2 1 3]))

(defun merge-heads (x)
  (reshape (transpose x [0 2 1 3]) [(dim x 0) seq width]))

(defun self-attention (x)
  (let ((q (split-heads (matmul x (weight "wq" width width))))
        (k (split-heads (matmul x (weight "wk" width width))))
        (v (split-heads (matmul x (weight "wv" width width)))))
    (matmul (merge-heads (attention q k v :causal true)) (weight "wo" width width))))

(defun feed-forward (x)
  (matmul (gelu (matmul x (weight "up" width (* 4 width)))) (weight "down" (* 4 width) width)))

(defun block (x i)
  (scope "block" i
    (let ((x (+ x (self-attention (norm x "norm-1")))))
      (+ x (feed-forward (norm x "norm-2"))))))

(defun model (tokens)
  (let* ((table (weight "tokens" vocab width))
         (x (+ (embedding table tokens) (weight "places" seq width)))
         (x (reduce block (range layers) x)))
    (matmul (norm x "norm") (transpose table))))

(defun objective (outputs targets)
  (cross-entropy outputs targets))

(defvar optimizer
  (adamw :lr (warmup 100 (cosine-decay 6e-4 :end 6e-5)) :weight-decay 0.1 :clip-norm 1.0))
