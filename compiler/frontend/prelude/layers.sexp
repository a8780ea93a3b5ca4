; Layers: functions of the input and of parameters that the program declares itself.

(defun linear (x w &optional b)
  "x W + b over the last axis: [… in], [in out], [out] -> [… out]. Without `b`, no bias."
  (if (nil? b) (matmul x w) (+ (matmul x w) b)))

(defun %dropped (name rate)
  "The share that is dropped here, nil where none is."
  (let ((rate (%drop-rate name rate)))
    (if (and training? (or (tensor? rate) (/= rate 0))) rate nil)))

(defun dropout (x rate)
  "Each element is zero with probability `rate`, and the others grow by 1 / (1 - rate). The identity in evaluations.
   `rate` is a number from 0 to below 1, or a scalar tensor such as a `schedule` gives."
  (let ((rate (%dropped "dropout" rate)))
    (if (nil? rate)
        x
        (let ((kept (- 1 rate)))
          (where (random-bernoulli (shape x) :p kept) (* x (/ 1 kept)) 0)))))

(defun %resized-axis (x axis size method)
  "One axis by the middles of its elements: a place of the result lies at (i + 1/2) · n / size - 1/2 of the n there are."
  (let* ((n (dim x axis))
         (place (- (* (+ (arange size :dtype :f32) 0.5) (/ (* n 1.0) (maximum size 1))) 0.5)))
    (if (= method :nearest)
        (take x (cast (floor (+ place 0.5)) :i32) :axis axis)
        (let* ((place (clamp place 0 (- n 1)))
               (low (floor place))
               (share (reshape (- place low) (for [i (range (rank x))] (if (= i axis) size 1))))
               (low (cast low :i32))
               (high (minimum (+ low 1) (- n 1)))
               (share (cast share (dtype x))))
          (+ (* (take x low :axis axis) (- 1 share)) (* (take x high :axis axis) share))))))

(defun resize (x sizes &key (method :linear))
  "The axes of space of [batch space… channels] brought to `sizes`, `:linear` (bilinear of two axes) or `:nearest`, by
   the middles of elements and without smoothing before a reduction."
  (reduce (fn (x i) (if (= (dim x (+ i 1)) (nth sizes i)) x (%resized-axis x (+ i 1) (nth sizes i) method)))
          (range (len sizes)) x))
