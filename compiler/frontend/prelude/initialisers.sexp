; Initialisers: functions of a shape. `(normal 0.02)` gives one; `zeros` and `ones` are ones; so is `(fn (shape) …)`.
; Those named after a rule take the fans of the shape: its last two axes are in and out, the axes before them a kernel.
; They may be written with or without parentheses, `:init he-normal` or `:init (he-normal)`.

(defun constant (value)
  "One number everywhere."
  (fn (shape) (full shape (* value 1.0))))

(defun normal (std &optional (mean 0.0))
  "Normal numbers of standard deviation `std`."
  (fn (shape) (random-normal shape :std std :mean mean)))

(defun truncated-normal (std)
  "Normal numbers cut off at two standard deviations, `std` that of the distribution before the cut."
  (fn (shape) (* (random-truncated-normal shape) std)))

(defun uniform (low high)
  "Uniform numbers from `low` to below `high`."
  (fn (shape) (random-uniform shape :low low :high high)))

(defun %normal-by (std-of shape)
  (if (nil? shape)
      (fn (shape) (random-normal shape :std (std-of (fans shape))))
      (random-normal shape :std (std-of (fans shape)))))

(defun %symmetric (shape limit)
  (random-uniform shape :low (- limit) :high limit))

(defun %uniform-by (limit-of shape)
  (if (nil? shape)
      (fn (shape) (%symmetric shape (limit-of (fans shape))))
      (%symmetric shape (limit-of (fans shape)))))

(defun xavier-normal (&optional shape)
  "Glorot and Bengio 2010: variance 2 / (in + out)."
  (%normal-by (fn (f) (sqrt (/ 2 (+ (get f :in) (get f :out))))) shape))

(defun xavier-uniform (&optional shape)
  "Glorot and Bengio 2010: uniform, variance 2 / (in + out)."
  (%uniform-by (fn (f) (sqrt (/ 6 (+ (get f :in) (get f :out))))) shape))

(defun he-normal (&optional shape)
  "He and others 2015, for ReLU: variance 2 / in."
  (%normal-by (fn (f) (sqrt (/ 2 (get f :in)))) shape))

(defun he-uniform (&optional shape)
  "He and others 2015, for ReLU: uniform, variance 2 / in."
  (%uniform-by (fn (f) (sqrt (/ 6 (get f :in)))) shape))

(defun lecun-normal (&optional shape)
  "LeCun and others 1998: variance 1 / in."
  (%normal-by (fn (f) (sqrt (/ 1 (get f :in)))) shape))

(defun orthogonal (&optional (gain 1.0))
  "Saxe and others 2014: a random matrix with orthonormal columns, or rows where it is wide; a kernel's leading axes count
   as rows. It is the orthogonal factor of a normal matrix, found by the iteration x ← 3/2 x - 1/2 x xᵀ x."
  (fn (shape)
    (let* ((columns (last shape))
           (g (reshape (random-normal shape) [-1 columns]))
           (tall (> (dim g 0) columns))
           (x (if tall (transpose g) g))
           (x (/ x (+ (norm x) 1e-7)))
           (x (first (scan (fn (x none) (list (- (* x 1.5) (* 0.5 (matmul (matmul x (transpose x)) x))) nil))
                           x nil :length 48))))
      (* (reshape (if tall (transpose x) x) shape) gain))))
