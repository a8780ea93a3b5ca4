; RUN: cd %S && not %sexpc check 006-bad-number.sexp 2> %t
; RUN: %same 006-bad-number.expected %t

(defvar version 0.0.1)
(defvar mask 0xFF)
(defvar half 1/2)
(defvar million 1__000_000)
(defvar conv 3x3)
(defvar big 1e999)
