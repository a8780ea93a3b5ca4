; Activations: element by element, but for the softmax family and the gated ones, which work along an axis.

(defun relu (x)
  "max(x, 0), with gradient 0 at 0; NaN stays NaN."
  (where (<= x 0) 0 x))

(defun leaky-relu (x &key (slope 0.01))
  "x where positive, else slope · x."
  (where (<= x 0) (* x slope) x))

(defun elu (x &key (alpha 1.0))
  "x where positive, else alpha · (exp(x) - 1)."
  ; the exponential sees only what is negative, so that no infinity enters the gradient of the other side
  (where (<= x 0) (* alpha (expm1 (minimum x 0))) x))

(defun gelu (x &key (approximate false))
  "x · Φ(x), Φ the normal distribution function; with `:approximate true` by tanh, as in GPT-2."
  (if approximate
      (* 0.5 x (+ 1 (tanh (* 0.7978845608028654 (+ x (* 0.044715 (pow x 3)))))))
      (* 0.5 x (+ 1 (erf (* x 0.7071067811865476))))))

(defun silu (x)
  "x · sigmoid(x); also called swish."
  (* x (sigmoid x)))

(defun softplus (x)
  "log(1 + exp(x)), without overflow."
  (+ (maximum x 0) (log1p (exp (neg (abs x))))))

(defun mish (x)
  "x · tanh(softplus(x))."
  (* x (tanh (softplus x))))

(defun hard-swish (x)
  "x · min(max(x + 3, 0), 6) / 6."
  (* x (/ (clamp (+ x 3) 0 6) 6)))

(defun logaddexp (a b)
  "log(exp(a) + exp(b)), without overflow."
  (+ (maximum a b) (log1p (exp (neg (abs (- a b)))))))

; ---- along an axis -----------------------------------------------------------------------------------------------

(defun softmax (x &key (axis -1))
  "exp(x) / Σ exp(x) along an axis. The largest element is subtracted first: it changes neither the value nor the
   gradient. The gradient is y · (g - Σ g · y), of the value y alone."
  (custom-gradient
    (fn (x)
      (let* ((e (exp (- x (max x :axis axis :keep true)))))
        (* e (/ 1 (sum e :axis axis :keep true)))))
    (fn (g y x) (* y (- g (sum (* g y) :axis axis :keep true))))
    (%floats "softmax" x)))

(defun log-softmax (x &key (axis -1))
  "log(softmax(x)), without the rounding of taking the logarithm afterwards."
  (let* ((x (%floats "log-softmax" x))
         (shifted (- x (stop-gradient (max x :axis axis :keep true)))))
    (- shifted (log (sum (exp shifted) :axis axis :keep true)))))

(defun logsumexp (x &key (axis -1) (keep false))
  "log Σ exp(x) along an axis, without overflow."
  (let* ((x (%floats "logsumexp" x))
         (top (max x :axis axis :keep true))
         ; an infinite maximum would give inf - inf
         (top (stop-gradient (where (isfinite top) top 0)))
         (total (+ (log (sum (exp (- x top)) :axis axis :keep true)) top)))
    (if keep total (squeeze total :axis axis))))

; ---- gated -------------------------------------------------------------------------------------------------------

(defun glu (x &key (axis -1))
  "The first half of an axis times the sigmoid of the second."
  (let ((halves (split x 2 :axis axis)))
    (* (first halves) (sigmoid (first (rest halves))))))

(defun swiglu (gate value)
  "silu(gate) · value, the gate of a Llama block."
  (* (silu gate) value))

(defun geglu (gate value)
  "gelu(gate) · value."
  (* (gelu gate) value))
