; What could lose memory at each step: clipping, dropout, buffers, a scan, `remat`, an average of the parameters.

(defvar width 256)
(defvar depth 8)
(defvar batch-size 512)
(defvar again true)

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x :dtype :f32 :shape [16])]
          :batch-size batch-size))

(defun prepare (batch)
  (counter :rows (dim (field batch :x) 0))
  (list :inputs (field batch :x) :targets (field batch :x)))

(defun layer (x i)
  (scope "layer" i
    (let ((w (param "w" [width width] :init (normal 0.06)))
          (y (tanh (matmul x (param "v" [width width] :init (normal 0.06))))))
      (+ x (dropout (gelu (matmul (tanh (* y y)) w)) 0.1)))))

(defun model (x)
  (let* ((x (matmul x (param "in" [16 width] :init (normal 0.06))))
         (x (batch-norm x (param "gain" [width] :init ones) (param "bias" [width] :init zeros)))
         (x (reduce (fn (x i) (if again (remat (layer x i)) (layer x i))) (range depth) x))
         (h (scan (fn (h row) (let ((h (+ (* h 0.5) row))) (list h h)))
                  (zeros [width]) (slice x 0 0 8))))
    (list (mean (square x)) (mean (nth h 0)))))

(defun objective (outputs targets)
  (+ (nth outputs 0) (nth outputs 1)))

(defvar optimizer (adamw :lr 1e-4 :clip-norm 1.0 :ema 0.99))
