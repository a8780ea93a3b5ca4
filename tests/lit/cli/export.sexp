; An export is compiled as the model is used: no dropout, no metric, no schedule; it takes its inputs alone.

; RUN: %sexpc build %s --emit=stablehlo | %filecheck %s

; CHECK: func.func private @export.scores(%arg0: tensor<2x16xf32>
; CHECK-SAME: sexp.role = "export"
; CHECK-NOT: sexp.random
; CHECK-NOT: sexp.metric
; CHECK-NOT: sexp.schedule
; CHECK: return {{.*}} : tensor<2x4xf32>

(include "../diagnostics/Inputs/all-but-model.sexp")

(defun model (x)
  (metric :size (mean (square x)))
  (dropout (matmul x (param "w" [16 4])) (schedule :rate (fn (ctx) (* 0.5 (get ctx :progress))))))

(export "scores" model :inputs [(field :x :shape [2 16])])
