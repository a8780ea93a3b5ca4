; RUN: cd %S && not %sexpc check 020-value-without-a-name.sexp 2> %t
; RUN: %same 020-value-without-a-name.expected %t

(include "../Inputs/all.sexp")

(run :steps 100)

(precision :compute :bf16)

(sgd :lr 0.2)

(evaluation :name "again" :loader train-loader :batches 2)

(export "outputs" model :inputs [(field :x :shape [1 16])])
