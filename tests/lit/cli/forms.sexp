; RUN: %sexpc build --emit forms %s > %t
; RUN: %same %S/forms.expected %t
; What is printed reads as itself.
; RUN: cp %t %t.sexp
; RUN: %sexpc build --emit forms %t.sexp > %t.again
; RUN: diff %t %t.again

(defvar constants [nil true -inf nan 1_000 1e-3 "tab\t \" \\ \u{7} 日本"]) ; a comment

(defmacro unless-zero (x body) `(if (= ,x 0) nil ,@body #;(left out)))

(defun model (x)
  (let* ((h (relu (matmul x (param "first" [16 128] :init (truncated-normal 0.02) :decay true :trainable true))))
         (names '(a b)))
    (matmul h (param "second" [128 4] :init (truncated-normal 0.02) :decay false :trainable true))))
