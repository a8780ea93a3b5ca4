; Low-rank adapters on a frozen network (Hu and others 2021): `:groups` freezes the base, and the adapters and the last
; layer learn 92 % of the held-out digits on top of it.

(include "data.sexp")
(include "classes.sexp")

(defvar rank-of-adapters 4)

(defun adapted (x name out)
  "x (W + A B), W frozen. B begins at zero, so that the network begins as the base."
  (let ((base (scope "base" (param name [(dim x -1) out] :init he-normal))))
    (scope name
      (let ((a (param "a" [(dim x -1) rank-of-adapters] :init he-normal))
            (b (param "b" [rank-of-adapters out] :init zeros)))
        (+ (matmul x base) (matmul (matmul x a) b))))))

(defun model (x)
  (-> (flatten x :start 1) (adapted "first" 64) relu (adapted "second" 64) relu (dense "classes" 10)))

(defvar optimizer
  (adamw :lr (cosine-decay 1e-2) :groups [["base.*" :frozen true] ["classes.*" :lr 3e-3]]))

(defvar evaluations [(evaluation :name "test" :loader test-loader)])

(defvar run (run :steps 300))
