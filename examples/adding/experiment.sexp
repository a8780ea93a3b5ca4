; The adding problem (Hochreiter and Schmidhuber 1997): a sequence of 30 numbers, two of them marked; their sum is the
; answer. An LSTM, a `scan` over time, brings the mean square error from 0.17, what always answering 1 costs, below 0.02
; in 600 steps.
;
;   python examples/adding/make_data.py
;   sexpc build examples/adding/experiment.sexp -o adding.vmfb
;   sexpgpu-run adding.vmfb

(defvar width 32)

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :sequence :shape [30 2]) (field :sum)]
          :batch-size 64 :shuffle 5_000 :infinite true))

(defun prepare (batch)
  (list :inputs (field batch :sequence) :targets (field batch :sum)))

(defun lstm (xs)
  "[time batch features] -> [batch width], the last output."
  (let* ((w (param "w" [(+ (dim xs -1) width) (* 4 width)] :init xavier-normal))
         (b (param "b" [(* 4 width)] :init zeros :decay false))
         (nothing (zeros [(dim xs 1) width])))
    (last-of-cell xs nothing
      (let* ((gates (split (+ (matmul (concat [x h] :axis -1) w) b) 4 :axis -1))
             (c (+ (* (sigmoid (+ (nth gates 0) 1)) c) (* (sigmoid (nth gates 1)) (tanh (nth gates 2)))))
             (h (* (sigmoid (nth gates 3)) (tanh c))))
        (list (list h c) nil)))))

(defmacro last-of-cell (xs start body)
  "The last h of a cell: `body` sees x, h and c, and gives `(list (list h c) output)`."
  `(first (first (scan (fn (carry x) (let ((h (first carry)) (c (last carry))) ,body))
                       (list ,start ,start) ,xs))))

(defun model (sequence)
  (let ((h (lstm (transpose sequence [1 0 2]))))
    (squeeze (linear h (param "out" [width 1] :init xavier-normal) (param "bias" [1] :init zeros)) :axis -1)))

(defun objective (outputs targets)
  (mse outputs targets))

(defvar optimizer (adamw :lr (cosine-decay 1e-2) :clip-norm 1.0))

(defvar run (run :steps 600))
