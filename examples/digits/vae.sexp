; A variational autoencoder (Kingma and Welling 2013) with eight latent numbers: the bound on -log p(x) falls from 45
; nats, what guessing costs, to below 27 in 400 steps.

(include "data.sexp")

(defvar latents 8)

(defun model (x)
  (let* ((pixels (flatten x :start 1))
         (code (-> pixels (dense "encoder" 64) gelu (dense "posterior" (* 2 latents))))
         (halves (split code 2 :axis -1))
         (mu (first halves))
         (log-var (last halves))
         (noise (random-normal (shape mu)))
         (z (+ mu (* (exp (* 0.5 log-var)) noise)))
         (logits (-> z (dense "decoder" 64) gelu (dense "pixels" 64))))
    (list :pixels pixels :logits logits :mean mu :log-var log-var)))

(defun objective (outputs labels)
  (let* ((mu (get outputs :mean))
         (log-var (get outputs :log-var))
         (likelihood (sum (binary-cross-entropy (get outputs :logits) (get outputs :pixels) :reduce :none) :axis -1))
         (divergence (* 0.5 (sum (- (+ (exp log-var) (square mu)) 1 log-var) :axis -1)))
         (rate (schedule :beta (fn (ctx) (minimum 1.0 (/ (+ 1 (get ctx :step)) 100))))))
    (metric :reconstruction (mean likelihood))
    (metric :divergence (mean divergence))
    (metric :bound (mean (+ likelihood divergence)))
    (mean (+ likelihood (* rate divergence)))))

(defvar optimizer (adamw :lr 3e-3))

(defvar evaluations [(evaluation :name "test" :loader test-loader)])

(defvar run (run :steps 400))
