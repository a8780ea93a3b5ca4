; Optimizers. Each is an `optimizer` value: the state of a parameter, and one step of it. `:lr` is a number or a
; schedule. Every one takes the general options `:clip-norm :clip-value :weight-decay :groups :skip-nonfinite :ema`.

(defun sgd (&key lr (momentum 0.0) (nesterov false)
                 clip-norm clip-value weight-decay groups skip-nonfinite ema)
  "p ← p - lr · v, with v ← momentum · v + g; with Nesterov's momentum, p ← p - lr · (g + momentum · v)."
  (optimizer
    :hyper (list :lr (%rate "sgd" lr))
    :init (fn (p) (if (= momentum 0) (list) (list :v (zeros-like p))))
    :update
    (fn (p g state hyper)
      (if (= momentum 0)
          (list :param (- p (* (get hyper :lr) g)) :state state)
          (let* ((v (+ (* (get state :v) momentum) g))
                 (step (if nesterov (+ g (* v momentum)) v)))
            (list :param (- p (* (get hyper :lr) step)) :state (list :v v)))))
    :clip-norm clip-norm :clip-value clip-value :weight-decay weight-decay
    :groups groups :skip-nonfinite skip-nonfinite :ema ema))

(defun adamw (&key lr (beta1 0.9) (beta2 0.999) (eps 1e-8)
                   clip-norm clip-value weight-decay groups skip-nonfinite ema)
  "Loshchilov and Hutter 2019: Adam with decoupled weight decay."
  (optimizer
    :hyper (list :lr (%rate "adamw" lr))
    :init %adam-state
    :update (fn (p g state hyper) (%adam-step p g state (get hyper :lr) beta1 beta2 eps))
    :clip-norm clip-norm :clip-value clip-value :weight-decay weight-decay
    :groups groups :skip-nonfinite skip-nonfinite :ema ema))

(defun %adam-state (p)
  (list :m (zeros-like p) :v (zeros-like p) :n (zeros [])))

(defun %adam-step (p g state lr beta1 beta2 eps)
  "The means of g and g² start at zero, and are divided by 1 - beta^n in step n. That is computed as -expm1(n log beta):
   1 - 0.999 alone is wrong by 5e-5 in f32."
  (let* ((n (+ (get state :n) 1))
         (m (+ (* (get state :m) beta1) (* g (- 1 beta1))))
         (v (+ (* (get state :v) beta2) (* (square g) (- 1 beta2))))
         (m-share (neg (expm1 (* n (log beta1)))))
         (v-share (neg (expm1 (* n (log beta2)))))
         ; m / m-share / (sqrt(v / v-share) + eps), with the scalars taken together first
         (rate (/ (* lr (sqrt v-share)) m-share)))
    (list :param (- p (/ (* m rate) (+ (sqrt v) (* eps (sqrt v-share)))))
          :state (list :m m :v v :n n))))

(defun lion (&key lr (beta1 0.9) (beta2 0.99)
                  clip-norm clip-value weight-decay groups skip-nonfinite ema)
  "Chen and others 2023: the sign of a mean of gradients, each weight moving by exactly lr."
  (optimizer
    :hyper (list :lr (%rate "lion" lr))
    :init (fn (p) (list :m (zeros-like p)))
    :update
    (fn (p g state hyper)
      (let* ((m (get state :m))
             (direction (sign (+ (* m beta1) (* g (- 1 beta1))))))
        (list :param (- p (* (get hyper :lr) direction))
              :state (list :m (+ (* m beta2) (* g (- 1 beta2)))))))
    :clip-norm clip-norm :clip-value clip-value :weight-decay weight-decay
    :groups groups :skip-nonfinite skip-nonfinite :ema ema))

(defun %orthogonal (g)
  "About U Vᵀ of g = U S Vᵀ, by five steps of a quintic Newton–Schulz iteration on the smaller Gram matrix."
  (let* ((tall (> (dim g 0) (dim g 1)))
         (x (if tall (transpose g) g))
         (x (/ x (+ (norm x) 1e-7)))
         (x (reduce (fn (x i)
                      (let* ((a (matmul x (transpose x)))
                             (b (+ (* a -4.7750) (* 2.0315 (matmul a a)))))
                        (+ (* x 3.4445) (matmul b x))))
                    (range 5) x)))
    (if tall (transpose x) x)))

(defun muon (&key lr (momentum 0.95) (beta1 0.9) (beta2 0.95) (eps 1e-8)
                  clip-norm clip-value weight-decay groups skip-nonfinite ema)
  "Jordan and others 2024: the step of a matrix is its Nesterov momentum made orthogonal, times
   √max(1, rows / columns). What is not a matrix takes AdamW's step with the same lr."
  (optimizer
      :hyper (list :lr (%rate "muon" lr))
      :init (fn (p) (if (= (rank p) 2) (list :m (zeros-like p)) (%adam-state p)))
      :update
      (fn (p g state hyper)
        (if (= (rank p) 2)
            (let* ((m (+ (* (get state :m) momentum) (* g (- 1 momentum))))
                   (step (%orthogonal (+ (* g (- 1 momentum)) (* m momentum))))
                   (size (sqrt (maximum 1 (/ (dim p 0) (dim p 1))))))
              (list :param (- p (* step (* (get hyper :lr) size))) :state (list :m m)))
            (%adam-step p g state (get hyper :lr) beta1 beta2 eps)))
      :clip-norm clip-norm :clip-value clip-value :weight-decay weight-decay
      :groups groups :skip-nonfinite skip-nonfinite :ema ema))

(defun adafactor (&key lr (decay 0.8) (eps 1e-30) (clip 1.0) (floor 1e-3) (factored 128)
                       clip-norm clip-value weight-decay groups skip-nonfinite ema)
  "Shazeer and Stern 2018: the mean of g² of a matrix is kept as its rows' and its columns'. A matrix is factored where its
   last two sizes are at least `:factored`. The step is held to a root mean square of `:clip`, and scaled by that of the
   parameter, at least `:floor`; the mean's decay is 1 - n^-`:decay` in step n."
  (optimizer
    :hyper (list :lr (%rate "adafactor" lr))
    :init (fn (p) (if (%factors p factored)
                      (list :rows (mean (zeros-like p) :axis -1) :columns (mean (zeros-like p) :axis -2) :n (zeros []))
                      (list :v (zeros-like p) :n (zeros []))))
    :update
    (fn (p g state hyper)
      (let* ((n (+ (get state :n) 1))
             (keep (- 1 (pow n (- decay))))
             (power (+ (square g) eps))
             (state (if (%factors p factored)
                        (list :rows (%toward (get state :rows) (mean power :axis -1) keep)
                              :columns (%toward (get state :columns) (mean power :axis -2) keep) :n n)
                        (list :v (%toward (get state :v) power keep) :n n)))
             (step (if (%factors p factored)
                       (let ((rows (get state :rows)))
                         (* g (expand-dims (rsqrt (/ rows (mean rows :axis -1 :keep true))) -1)
                            (expand-dims (rsqrt (get state :columns)) -2)))
                       (* g (rsqrt (get state :v)))))
             (step (/ step (maximum (/ (%root-mean-square step) clip) 1.0)))
             (size (* (get hyper :lr) (maximum (%root-mean-square p) floor))))
        (list :param (- p (* step size)) :state state)))
    :clip-norm clip-norm :clip-value clip-value :weight-decay weight-decay
    :groups groups :skip-nonfinite skip-nonfinite :ema ema))

(defun %factors (p least)
  (and (>= (rank p) 2) (>= (dim p -1) least) (>= (dim p -2) least)))

(defun %toward (old new keep)
  (+ (* old keep) (* new (- 1 keep))))

(defun %root-mean-square (x)
  (sqrt (mean (square x))))

(defun %rate (name lr)
  (if (nil? lr) (error (str "`" name "` needs `:lr`, a number or a schedule")) lr))
