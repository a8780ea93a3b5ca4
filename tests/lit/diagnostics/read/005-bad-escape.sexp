; RUN: cd %S && not %sexpc check 005-bad-escape.sexp 2> %t
; RUN: %same 005-bad-escape.expected %t

(defvar path "C:\data\new\train.parquet")
(defvar wide "\u{110000} \u1F600 \x41")
(defvar fine "\n \t \" \\ \u{1F600}")
