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
