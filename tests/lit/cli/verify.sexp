; RUN: %sexpc check --verify-diagnostics %s
; expected-error@+1 {{E-READ-006}}
(defvar a 0.0.1)
(defvar b "\q")   ; expected-error {{E-READ-005}}
