; What classifiers have in common.

(defun objective (logits labels)
  (metric :accuracy (mean (= (argmax logits :axis -1) labels)))
  (cross-entropy logits labels))
