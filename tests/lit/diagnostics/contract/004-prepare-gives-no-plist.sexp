; RUN: cd %S && not %sexpc check 004-prepare-gives-no-plist.sexp 2> %t
; RUN: %same 004-prepare-gives-no-plist.expected %t

(include "../Inputs/all-but-prepare.sexp")

(defun prepare (batch)
  (list :inputs (field batch :x) :target (field batch :y)))
