; RUN: cd %S && not %sexpc check 003-error-of-the-program.sexp 2> %t
; RUN: %same 003-error-of-the-program.expected %t

(include "../Inputs/all-but-model.sexp")

(defun activation (name)
  (case name
    ("relu" relu)
    (else (error (str "no activation is called " name)))))

(defun model (x)
  ((activation "rellu") (matmul x (param "w" [16 4] :init (normal 0.02)))))
