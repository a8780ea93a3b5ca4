; nanoGPT: GPT-2 over tokens of 1,024 positions, with tied embeddings and the projections into the residual stream scaled
; by depth. `train-loader` and `prepare` are the manual's own, word for word.

(defvar seq 1024)
(defvar vocab 50304)
(defvar width 256)
(defvar heads 8)
(defvar layers 4)
(defvar rate 0.0)   ; of dropout: 0.2 where the data is small

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

(defun norm (x name)
  (scope name
    (layer-norm x (param "gain" [width] :init ones :decay false) (param "bias" [width] :init zeros :decay false))))

(defun project (x name out &key (std 0.02))
  (scope name
    (linear x (param "w" [(dim x -1) out] :init (normal std)) (param "b" [out] :init zeros :decay false))))

(defun add-to-residual (x y name)
  (+ x (dropout (project y name width :std (/ 0.02 (sqrt (* 2 layers)))) rate)))

(defun split-heads (x)
  "[batch time width] -> [batch heads time width/heads]"
  (transpose (reshape x [(dim x 0) seq heads (/ width heads)]) [0 2 1 3]))

(defun self-attention (x)
  (let* ((qkv (map split-heads (split (project x "qkv" (* 3 width)) 3 :axis -1)))
         (y (attention (nth qkv 0) (nth qkv 1) (nth qkv 2) :causal true)))
    (reshape (transpose y [0 2 1 3]) (shape x))))

(defun block (x i)
  (scope "block" i
    (let ((x (add-to-residual x (self-attention (norm x "norm-1")) "out")))
      (add-to-residual x (gelu (project (norm x "norm-2") "up" (* 4 width))) "down"))))

(defun model (tokens)
  (let* ((table (param "tokens" [vocab width] :init (normal 0.02)))
         (places (param "places" [seq width] :init (normal 0.02)))
         (x (dropout (+ (embedding table tokens) places) rate))
         (x (reduce block (range layers) x)))
    (matmul (norm x "norm") (transpose table))))

(defun objective (outputs targets)
  (cross-entropy outputs targets))

(defvar optimizer
  (adamw :lr (warmup 100 (cosine-decay 6e-4 :end 6e-5)) :weight-decay 0.1 :clip-norm 1.0))
