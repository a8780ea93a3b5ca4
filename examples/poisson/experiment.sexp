; A physics-informed network (Raissi and others 2019): u″(x) = -π² sin(πx) on [0, 1] with u(0) = u(1) = 0, of which
; sin(πx) is the solution. The loss holds second derivatives by `gradient`, and is differentiated once more. The largest
; error over a batch of points is below 0.02 after 500 steps.
;
;   python examples/poisson/make_data.py
;   sexpc build examples/poisson/experiment.sexp -o poisson.vmfb
;   sexpgpu-run poisson.vmfb

(defvar pi 3.141592653589793)

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields [(field :x)]
          :batch-size 64 :shuffle 2_000 :infinite true))

(defun prepare (batch)
  (list :inputs (field batch :x) :targets (field batch :x)))

(defun dense (x name out)
  (scope name
    (linear x (param "w" [(dim x -1) out] :init xavier-normal) (param "b" [out] :init zeros))))

(defun u (x)
  "[n] -> [n]: a network times x (1 - x), which is zero at both ends."
  (* x (- 1 x)
     (-> (expand-dims x -1) (dense "first" 32) tanh (dense "second" 32) tanh (dense "third" 1) (squeeze :axis -1))))

(defun slope (x)
  "u′: points do not mix, so the gradient of the sum holds the derivative at each."
  (gradient (fn (x) (sum (u x))) x))

(defun model (x)
  (list :u (u x) :curvature (gradient (fn (x) (sum (slope x))) x)))

(defun objective (outputs x)
  (metric :error (max (abs (- (get outputs :u) (sin (* pi x))))) :reduce :max)
  (mse (get outputs :curvature) (* (- (* pi pi)) (sin (* pi x)))))

(defvar optimizer (adamw :lr (cosine-decay 1e-2)))

(defvar run (run :steps 500))
