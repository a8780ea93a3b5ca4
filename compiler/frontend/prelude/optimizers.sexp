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
  "Loshchilov and Hutter 2019: Adam with decoupled weight decay. The means of g and g² start at zero, and are divided
   by 1 - beta^n in step n, which is computed as -expm1(n log beta): 1 - 0.999 alone is wrong by 5e-5 in f32."
  (optimizer
    :hyper (list :lr (%rate "adamw" lr))
    :init (fn (p) (list :m (zeros-like p) :v (zeros-like p) :n (zeros [])))
    :update
    (fn (p g state hyper)
      (let* ((n (+ (get state :n) 1))
             (m (+ (* (get state :m) beta1) (* g (- 1 beta1))))
             (v (+ (* (get state :v) beta2) (* (square g) (- 1 beta2))))
             (m-share (neg (expm1 (* n (log beta1)))))
             (v-share (neg (expm1 (* n (log beta2)))))
             ; m / m-share / (sqrt(v / v-share) + eps), with the scalars taken together first
             (rate (/ (* (get hyper :lr) (sqrt v-share)) m-share)))
        (list :param (- p (/ (* m rate) (+ (sqrt v) (* eps (sqrt v-share)))))
              :state (list :m m :v v :n n))))
    :clip-norm clip-norm :clip-value clip-value :weight-decay weight-decay
    :groups groups :skip-nonfinite skip-nonfinite :ema ema))

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

(defun %rate (name lr)
  (if (nil? lr) (error (str "`" name "` needs `:lr`, a number or a schedule")) lr))
