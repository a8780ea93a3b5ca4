(defvar optimizer (adamw :lr 1e-3 :weight-decay 0.1))
