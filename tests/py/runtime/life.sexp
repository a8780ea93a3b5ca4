; Everything a resume has to put back: two stages with a way back, a mix by weights, a shuffle, schedules, an average of
; the weights, a dynamic loss scale, random numbers, batch statistics, evaluations.
(defvar fields [(field :x :shape [4]) (field :y) (field :m)])
(defvar train-loader
  (loader :stages [(stage :name "easy" :shuffle 16 :infinite true
                          :sources [(manifest "a.json" :split "train" :weight 3) (manifest "b.json" :split "train" :weight 1)])
                   (stage :name "hard" :shuffle 8 :infinite true :sources [(files ["b.parquet"])])]
          :fields fields
          :batch-size 4))
(defvar val-loader (loader :sources [(files ["v.parquet"])] :fields fields :batch-size 4))

(defun prepare (batch)
  (counter :tokens (cast (sum (field batch :m)) :i64))
  (counter :mass (sum (field batch :m)))
  (list :inputs (field batch :x) :targets (field batch :y) :mask (field batch :m)))

(defun model (x)
  (let* ((seen (buffer "seen" [4] :init zeros))
         (h (tanh (linear (dropout x 0.1) (param "w" [4 8] :init (normal 0.5)) (param "b" [8] :init zeros)))))
    (update-buffer "seen" (+ (* seen 0.9) (* (mean x :axis 0) 0.1)))
    (squeeze (linear h (param "v" [8 1] :init (normal 0.5)) (param "c" [1] :init zeros)) :axis 1)))

(defun objective (outputs targets metadata)
  (let ((errors (square (- outputs targets))) (mask (get metadata :mask)))
    (metric :masked (/ (sum (* errors mask)) (+ (sum mask) 1e-6)) :weight (sum mask))
    (metric :worst (max errors) :reduce :max)
    (mean errors)))

(defvar optimizer
  (adamw :lr (warmup 5 (fn (ctx) (* 0.05 (- 1.0 (get ctx :progress)))))
         :clip-norm 1.0 :ema 0.9))
(defvar precision (precision :compute :f16 :loss-scale :dynamic))
(defvar evaluations [(evaluation :name "val" :loader val-loader :every 7 :at-start true :at-end true)])

; After 24 tokens of the one stage five steps of the other: it comes back again and again.
(defun curriculum (ctx)
  (if (= (get ctx :stage) "easy")
      (if (>= (get ctx :stage-tokens) 24) "hard" "easy")
      (if (>= (get ctx :stage-step) 5) "easy" "hard")))
(defvar run (run :steps 60 :checkpoint-every 9))
