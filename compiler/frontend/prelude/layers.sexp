; Layers: functions of the input and of parameters that the program declares itself.

(defun linear (x w &optional b)
  "x W + b over the last axis: [… in], [in out], [out] -> [… out]. Without `b`, no bias."
  (if (nil? b) (matmul x w) (+ (matmul x w) b)))

(defun dropout (x rate)
  "Each element is zero with probability `rate`, and the others grow by 1 / (1 - rate). The identity in evaluations.
   `rate` is a number, or a scalar tensor such as a `schedule` gives."
  (if (and training? (/= rate 0))
      (let ((kept (- 1 rate)))
        (where (random-bernoulli (shape x) :p kept) (* x (/ 1 kept)) 0))
      x))
