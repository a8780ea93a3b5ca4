; An optimizer of one's own: AdaBelief (Zhuang and others 2020) in fifteen lines. 95 % of the held-out digits after 300
; steps.

(include "data.sexp")
(include "classes.sexp")

(defun adabelief (&key lr (beta1 0.9) (beta2 0.999) (eps 1e-8))
  (optimizer
    :hyper (list :lr lr)
    :init (fn (p) (list :m (zeros-like p) :s (zeros-like p) :n 0.0))
    :update
    (fn (p g state hyper)
      (let* ((n (+ (get state :n) 1))
             (m (+ (* beta1 (get state :m)) (* (- 1 beta1) g)))
             (s (+ (* beta2 (get state :s)) (* (- 1 beta2) (square (- g m))) eps))
             (m-hat (/ m (- 1 (pow beta1 n))))
             (s-hat (/ s (- 1 (pow beta2 n)))))
        (list :param (- p (/ (* (get hyper :lr) m-hat) (+ (sqrt s-hat) eps)))
              :state (list :m m :s s :n n))))
    :clip-norm 1.0 :weight-decay 1e-2))

(defun model (x)
  (-> (flatten x :start 1) (dense "hidden" 64) relu (dense "classes" 10)))

(defvar optimizer (adabelief :lr (cosine-decay 1e-2)))

(defvar evaluations [(evaluation :name "test" :loader test-loader)])

(defvar run (run :steps 300))
