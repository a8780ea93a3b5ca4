(defun model (x)
  (matmul x (param "w" [16 4] :init (normal 0.02))))
