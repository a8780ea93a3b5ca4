; Attention over [batch heads time width].

(defun causal-mask (queries keys)
  "A boolean [queries keys]: a query sees the keys up to its own place, counted from the end."
  (>= (expand-dims (arange (- keys queries) keys) 1) (arange keys)))

(defun %wide (x)
  "In f32 at least."
  (if (= (dtype x) :f64) x (cast x :f32)))

(defun %scores (q k seen)
  "The scores, wide. What is not seen has a large finite number: a row that sees nothing is then uniform, not NaN."
  (let ((scores (%wide (einsum "bhtd,bhsd->bhts" q k))))
    (if (nil? seen) scores (where seen scores -1e30))))

(defun %attended (q k v seen rate)
  "softmax(q kᵀ) v without a probability that outlives it: the gradient computes them again from the scores and, of
   each row, the largest and the reciprocal of the sum (Dao and others 2022, FlashAttention). Which of them `rate` makes
   zero is drawn again too, from the same place in the random numbers; without a rate, nil, none are."
  (let* ((spots [(dim q 0) (dim q 1) (dim q 2) (dim k 2)])
         (site (if (nil? rate) nil (%site spots)))
         (grown (fn (x) (if (nil? rate) x (* x (/ 1 (- 1 rate))))))
         (dropped (fn (x site) (if (nil? rate) x (where (%bernoulli site spots (- 1 rate)) x 0)))))
    (first
      (custom-gradient
        (fn (q k v)
          (let* ((scores (%scores q k seen))
                 (top (max scores :axis -1 :keep true))
                 (e (exp (- scores top)))
                 (share (/ 1 (sum e :axis -1 :keep true)))
                 (found (einsum "bhts,bhsd->bhtd" (cast (dropped e site) (dtype v)) v)))
            (list (cast (grown (* (%wide found) share)) (dtype v)) top share)))
        (fn (cotangents values q k v)
          (let* ((g (first cotangents))
                 (share (nth values 2))
                 (site (if (nil? rate) nil (%after g site)))
                 (probs (* (exp (- (%scores (%after g q) k seen) (nth values 1))) share))
                 ; share is a function of the scores too, and so has a cotangent where this gradient has one
                 (level (+ (sum (%wide (* g (first values))) :axis -1 :keep true) (* (nth cotangents 2) share)))
                 (dprobs (dropped (grown (%wide (einsum "bhtd,bhsd->bhts" g v))) site))
                 (dscores (* probs (- dprobs level)))
                 (dscores (cast (if (nil? seen) dscores (where seen dscores 0)) (dtype q))))
            (list (einsum "bhts,bhsd->bhtd" dscores k)
                  (einsum "bhts,bhtd->bhsd" dscores q)
                  (einsum "bhts,bhtd->bhsd" (cast (dropped (grown probs) site) (dtype v)) g))))
        q k v))))

; Fewer rows than this are no block of their own, and more blocks than this are not worth their kernels.
(defvar %block-rows 128)
(defvar %most-blocks 4)

(defun %causal (q k v rate)
  "Blocks of queries, each with the keys up to its end: of what no query sees, much is never computed."
  (let* ((time (dim q 2))
         (blocks (clamp (quotient time %block-rows) 1 %most-blocks)))
    (concat (for [i (range blocks)]
              (let ((start (quotient (* i time) blocks))
                    (end (quotient (* (+ i 1) time) blocks)))
                (%attended (slice q 2 start end) (slice k 2 0 end) (slice v 2 0 end) (causal-mask (- end start) end)
                          rate)))
            :axis 2)))

(defun attention (q k v &key (causal false) mask scale (dropout 0))
  "softmax(q kᵀ · scale) v. `q` is [batch heads time width]; `k` and `v` may have fewer heads, each shared by a group of
   query heads. `:scale` is 1/√width by default; `:mask`, booleans that broadcast to [batch heads time keys], says
   which keys are seen. In training a probability is zero with the chance `:dropout`, and the others grow, as `dropout`
   does. The gradient keeps no probability: they are computed again, with the same ones zero."
  (let* ((q (%attention-shapes q k v))
         (groups (/ (dim q 1) (dim k 1)))
         (k (if (= groups 1) k (repeat-axis k groups :axis 1)))
         (v (if (= groups 1) v (repeat-axis v groups :axis 1)))
         (q (* q (if (nil? scale) (/ 1 (sqrt (dim q -1))) scale)))
         (seen (if causal (causal-mask (dim q 2) (dim k 2)) nil))
         (seen (if (nil? mask) seen (if (nil? seen) mask (logical-and seen mask))))
         (rate (%dropped "attention" dropout)))
    (if (and causal (nil? mask) (= (dim q 2) (dim k 2)))
        (%causal q k v rate)
        (%attended q k v seen rate))))

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
