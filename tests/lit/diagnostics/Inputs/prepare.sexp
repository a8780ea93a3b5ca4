(defun prepare (batch)
  (list :inputs (field batch :x) :targets (field batch :y)))
