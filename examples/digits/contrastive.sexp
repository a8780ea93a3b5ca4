; Contrastive learning (Radford and others 2021) with a temperature that is learned: two noisy views of a digit find
; each other among the fifty of a batch. By chance that is 2 % of the time; after 300 steps it is more than half of it,
; and more than 80 % for held-out digits without the dropout.

(include "data.sexp")

(defun view (x)
  (+ (dropout x 0.3) (* 0.2 (random-normal (shape x)))))

(defun encoded (x)
  (let ((z (-> (flatten x :start 1) (dense "hidden" 128) gelu (dense "out" 32))))
    (/ z (+ (norm z :axis -1 :keep true) 1e-6))))

(defun model (x)
  (let ((scale (exp (param "log-scale" [] :init 2.0 :decay false))))
    (metric :scale scale)
    (* scale (matmul (encoded (view x)) (transpose (encoded (view x)))))))

(defun objective (scores labels)
  (let ((own (arange (dim scores 0))))
    (metric :found (mean (= (argmax scores :axis -1) own)))
    (* 0.5 (+ (cross-entropy scores own) (cross-entropy (transpose scores) own)))))

(defvar evaluations [(evaluation :name "test" :loader test-loader :batches 5)])

(defvar optimizer (adamw :lr 3e-3))

(defvar run (run :steps 300))
