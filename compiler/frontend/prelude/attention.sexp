; Attention over [batch heads time width].

(defun causal-mask (queries keys)
  "A boolean [queries keys]: a query sees the keys up to its own place, counted from the end."
  (>= (expand-dims (arange (- keys queries) keys) 1) (arange keys)))

(defun attention (q k v &key (causal false) mask scale)
  "softmax(q kᵀ · scale) v. `q` is [batch heads time width]; `k` and `v` may have fewer heads, each shared by a group of
   query heads. `:scale` is 1/√width by default; `:mask`, booleans that broadcast to [batch heads time keys], says
   which keys are seen."
  (let* ((q (%attention-shapes q k v))
         (groups (/ (dim q 1) (dim k 1)))
         (k (if (= groups 1) k (repeat-axis k groups :axis 1)))
         (v (if (= groups 1) v (repeat-axis v groups :axis 1)))
         (q (* q (if (nil? scale) (/ 1 (sqrt (dim q -1))) scale)))
         (scores (einsum "bhtd,bhsd->bhts" q k))
         ; a large finite number: a row that sees nothing is then uniform and not NaN
         (scores (if causal (where (causal-mask (dim q 2) (dim k 2)) scores -1e30) scores))
         (scores (if (nil? mask) scores (where mask scores -1e30))))
    (einsum "bhts,bhsd->bhtd" (softmax scores) v)))

(defun rope (x &key (base 10000.0) (offset 0))
  "Rotary positions (Su and others 2021) on the last two axes, [… time width] with an even width: element i and element
   i + width/2 turn together by the angle (offset + time) · base^(-2i/width)."
  (let* ((half (quotient (dim x -1) 2))
         (time (arange offset (+ offset (dim x -2)) :dtype :f32))
         (rates (exp (* (arange half :dtype :f32) (/ (log base) (- half)))))
         (angles (outer time rates))
         (halves (split x 2 :axis -1))
         (a (first halves))
         (b (last halves)))
    (concat [(- (* a (cos angles)) (* b (sin angles)))
             (+ (* b (cos angles)) (* a (sin angles)))]
            :axis -1)))
