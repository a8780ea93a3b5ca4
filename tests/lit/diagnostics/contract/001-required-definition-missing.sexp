; RUN: cd %S && not %sexpc check 001-required-definition-missing.sexp 2> %t
; RUN: %same 001-required-definition-missing.expected %t

(include "../Inputs/loader.sexp")
(include "../Inputs/prepare.sexp")
(include "../Inputs/model.sexp")
