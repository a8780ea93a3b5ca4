; RUN: cd %S && not %sexpc check --format short formats.sexp 2> %t; %same formats.short.expected %t
; RUN: not %sexpc check --format json formats.sexp > %t; %same formats.json.expected %t
; RUN: not %sexpc check --format=github formats.sexp > %t; %same formats.github.expected %t
; RUN: not %sexpc check --format sarif formats.sexp > %t; %same formats.sarif.expected %t
; RUN: env FORCE_COLOR=1 NO_COLOR= not %sexpc check formats.sexp 2> %t; %same formats.colour.expected %t

(defvar mask 0xFF)
(defvar name "größe \q")
