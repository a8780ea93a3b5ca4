; Denoising diffusion (Ho and others 2020) over the digits: a network that sees a noisy digit and its noise level says
; which noise was added. The mean square error falls from 1 to below 0.35 in 500 steps. The optimizer keeps an average
; of the weights, and the evaluation reads that.

(include "data.sexp")

(defvar levels 100)
(defvar width 256)

(defvar signal-shares                  ; ᾱ of the cosine schedule (Nichol and Dhariwal 2021)
  (let ((t (/ (+ (arange levels :dtype :f32) 0.5) levels)))
    (square (cos (* (/ (+ t 0.008) 1.008) 1.5707963)))))

(defun level-embedding (level)
  "Sines and cosines of the level, [batch 32]."
  (let ((angles (outer (cast level :f32) (exp (* (arange 16 :dtype :f32) -0.4)))))
    (concat [(sin angles) (cos angles)] :axis -1)))

(defun model (x)
  (let* ((clean (- (* 2 (flatten x :start 1)) 1))
         (level (random-integers 0 levels [(dim x 0)]))
         (noise (random-normal (shape clean)))
         (share (expand-dims (take signal-shares level) -1))
         (noisy (+ (* (sqrt share) clean) (* (sqrt (- 1 share)) noise)))
         (h (dense (concat [noisy (level-embedding level)] :axis -1) "in" width))
         (h (+ h (dense (silu h) "middle" width)))
         (guess (dense (silu h) "out" 64)))
    (list :guess guess :noise noise)))

(defun objective (outputs labels)
  (mse (get outputs :guess) (get outputs :noise)))

(defvar optimizer (adamw :lr (cosine-decay 3e-3) :ema 0.99))

(defvar evaluations [(evaluation :name "test" :loader test-loader)])

(defvar run (run :steps 500))
