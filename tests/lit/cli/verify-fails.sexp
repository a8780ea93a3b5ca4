; RUN: cd %S && not %sexpc check --verify-diagnostics verify-fails.sexp 2> %t; %same verify-fails.expected %t
(defvar a 1.5)    ; expected-error {{E-READ-006}}
(defvar b "\q")
