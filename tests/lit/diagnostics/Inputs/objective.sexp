(defun objective (outputs targets)
  (mse outputs targets))
