; RUN: cd %S && %sexpc check 007-let-hides-a-defvar.sexp 2> %t
; RUN: %same 007-let-hides-a-defvar.expected %t

(include "../Inputs/all-but-model.sexp")

(defvar width 64)
(defvar depth 2)

(defun half (x width)
  (slice x -1 0 (/ width 2)))

(defun dense (x out)
  (matmul x (param "w" [(dim x -1) out])))

(defun model (x)
  (let ((width 16)
        ; allow W-NAME-007
        (depth 3))
    (let* ((depth (+ depth 1)))
      (dense (half x width) depth))))
