; Losses: f32, averaged over all elements unless `:reduce` is `:sum` or `:none`.

(defun %reduced (losses how)
  (case how
    (:mean (mean losses))
    (:sum (sum losses))
    (:none losses)
    (else (error ":reduce is :mean, :sum or :none"))))

(defun cross-entropy (logits targets &key ignore (label-smoothing 0.0) (z-loss 0.0) (reduce :mean))
  "The negative log-likelihood of `targets` under softmax(logits): [… classes], int [...] or soft [… classes].
   `:ignore` is a target that does not count, neither in the sum nor in the mean. `:label-smoothing` a mixes the targets
   with the uniform distribution, (1 - a) · target + a / classes. `:z-loss` c adds c · logsumexp(logits)²."
  (let* ((soft (%soft-targets logits targets))
         (x (cast logits :f32))
         (classes (dim x -1))
         (norm (logsumexp x))
         ; the target's logit by comparison and sum: no table of classes² and no gather to differentiate
         (picked (if soft
                     (sum (* (cast targets :f32) x) :axis -1)
                     (sum (where (= (expand-dims (cast targets :i32) -1) (arange classes)) x 0.0) :axis -1)))
         (mass (if soft (sum (cast targets :f32) :axis -1) 1.0))
         (losses (if (= label-smoothing 0)
                     (- (* norm mass) picked)
                     (- (* norm (+ (* mass (- 1 label-smoothing)) label-smoothing))
                        (* picked (- 1 label-smoothing))
                        (* (mean x :axis -1) label-smoothing))))
         (losses (if (= z-loss 0) losses (+ losses (* z-loss (square norm))))))
    (if (nil? ignore)
        (%reduced losses reduce)
        (let* ((counts (/= targets ignore))
               (losses (where counts losses 0.0)))
          (if (= reduce :mean)
              (/ (sum losses) (maximum (sum (cast counts :f32)) 1.0))
              (%reduced losses reduce))))))

(defun binary-cross-entropy (logits targets &key (reduce :mean))
  "The negative log-likelihood of `targets` (booleans, or numbers from 0 to 1) under sigmoid(logits)."
  (let ((x (%same-shape "binary-cross-entropy" (%floats "binary-cross-entropy" logits) targets)))
    (%reduced (- (softplus x) (* x (cast targets (dtype x)))) reduce)))

(defun mse (outputs targets &key (reduce :mean))
  "(outputs - targets)²."
  (let ((x (%same-shape "mse" (%floats "mse" outputs) targets)))
    (%reduced (square (- x (cast targets (dtype x)))) reduce)))

(defun mae (outputs targets &key (reduce :mean))
  "|outputs - targets|."
  (let ((x (%same-shape "mae" (%floats "mae" outputs) targets)))
    (%reduced (abs (- x (cast targets (dtype x)))) reduce)))

(defun huber (outputs targets &key (delta 1.0) (reduce :mean))
  "Half the squared error where it is below `delta`, and linear beyond."
  (let* ((x (%same-shape "huber" (%floats "huber" outputs) targets))
         (far (abs (- x (cast targets (dtype x)))))
         (near (minimum far delta)))
    (%reduced (* near (- far (* 0.5 near))) reduce)))

(defun kl-divergence (log-probs targets &key (reduce :mean))
  "Σ targets · (log(targets) - log-probs) over the last axis, for probabilities `targets`; 0 · log(0) is 0."
  (let* ((x (%same-shape "kl-divergence" (%floats "kl-divergence" log-probs) targets))
         (t (cast targets :f32))
         (entropy (where (> t 0) (* t (log (where (> t 0) t 1.0))) 0.0)))
    (%reduced (sum (- entropy (* t x)) :axis -1) reduce)))

(defun cosine-similarity (a b &key (axis -1) (eps 1e-8))
  "a·b / max(|a| |b|, eps) along an axis."
  (/ (sum (* a b) :axis axis)
     (maximum (* (norm a :axis axis) (norm b :axis axis)) eps)))
