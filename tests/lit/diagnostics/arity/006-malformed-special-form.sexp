; RUN: cd %S && not %sexpc check 006-malformed-special-form.sexp 2> %t
; RUN: %same 006-malformed-special-form.expected %t

(include "../Inputs/all-but-model.sexp")

(defun model (x)
  (let (h (matmul x (param "w" [16 4] :init (normal 0.02))))
    (relu h)))

(defun second (x)
  (if (> (rank x) 1)))
