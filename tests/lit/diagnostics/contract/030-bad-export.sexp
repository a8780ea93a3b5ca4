; RUN: cd %S && not %sexpc check 030-bad-export.sexp 2> %t
; RUN: %same 030-bad-export.expected %t

(include "../Inputs/all.sexp")

(export "scores" model)

(export "labels" (fn (x) (list :label (argmax (model x) :axis -1) :width 4))
        :inputs [(field :x :shape [2 16])])

(export "labels" model :inputs [(field :x :shape [2 16]) 16])

(export "scaled" (fn (x) (* (model x) (schedule :scale (fn (ctx) (get ctx :progress)))))
        :inputs [(field :x :shape [2 16])])
