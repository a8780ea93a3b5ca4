; Normalisation. `gain` and `bias` are tensors of the last axis' size, or nil to leave them out.

(defun %scaled (x gain bias)
  (let ((x (if (nil? gain) x (* x gain))))
    (if (nil? bias) x (+ x bias))))

(defun layer-norm (x gain bias &key (eps 1e-5))
  "(x - mean) / sqrt(var + eps) · gain + bias over the last axis. The variance is that of the centred values."
  (let* ((x (%floats "layer-norm" x))
         (centred (- x (mean x :axis -1 :keep true)))
         (spread (mean (square centred) :axis -1 :keep true)))
    (%scaled (* centred (rsqrt (+ spread eps))) gain bias)))

(defun rms-norm (x gain &key (eps 1e-5))
  "x / sqrt(mean(x²) + eps) · gain over the last axis."
  (let ((x (%floats "rms-norm" x)))
    (%scaled (* x (rsqrt (+ (mean (square x) :axis -1 :keep true) eps))) gain nil)))

(defun group-norm (x groups gain bias &key (eps 1e-5))
  "The channels of [batch … channels] in `groups` equal groups, each with mean 0 and variance 1 over its channels and all
   axes between batch and channels; then · gain + bias by channel."
  (let* ((x (%floats "group-norm" x))
         (n (dim x 0))
         (parts (reshape x [n -1 groups (dim (first (split x groups :axis -1)) -1)]))
         (centred (- parts (mean parts :axis [1 3] :keep true)))
         (spread (mean (square centred) :axis [1 3] :keep true)))
    (%scaled (reshape (* centred (rsqrt (+ spread eps))) (shape x)) gain bias)))

(defun batch-norm (x gain bias &key (eps 1e-5) (momentum 0.9) (name "batch-norm"))
  "(x - mean) / sqrt(var + eps) · gain + bias by channel, the last axis: in training with mean and variance of the batch
   over all other axes, in evaluations with their running means, the buffers `<name>.mean` and `<name>.var`. These move
   by statistic ← momentum · statistic + (1 - momentum) · new. Each call in a scope has a `:name` of its own."
  (let* ((x (%floats "batch-norm" x))
         (channels [(dim x -1)])
         (axes (range (- (rank x) 1))))
    (scope name
      (let* ((running-mean (buffer "mean" channels :init zeros))
             (running-var (buffer "var" channels :init ones))
             (wide (cast x :f32))
             (mean (if training? (mean wide :axis axes) running-mean))
             (centred (- wide mean))
             (spread (if training? (mean (square centred) :axis axes) running-var)))
        (when training?
          (update-buffer "mean" (stop-gradient (+ (* running-mean momentum) (* mean (- 1 momentum)))))
          (update-buffer "var" (stop-gradient (+ (* running-var momentum) (* spread (- 1 momentum))))))
        (%scaled (cast (* centred (rsqrt (+ spread eps))) (dtype x)) gain bias)))))
