; RUN: cd %S && not %sexpc check 002-unclosed-bracket.sexp 2> %t
; RUN: %same 002-unclosed-bracket.expected %t

(defun dense (x width)
  (let ((w (param "w" [(dim x -1) width] :init (normal 0.02))
        (b (param "b" [width] :init zeros)))
    (+ (matmul x w) b)))

(defun model (x)
  (relu (dense x 64))
