; Normalisation over the last axis. `gain` and `bias` are tensors of that axis' size, or nil to leave them out.

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
