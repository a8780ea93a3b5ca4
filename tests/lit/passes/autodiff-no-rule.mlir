// An operation without a rule is told with its place in the source.
// RUN: not %sexpc opt --pass "autodiff{function=f}" %s 2>&1 | %filecheck %s

// CHECK: error[E-GRAD-001]: `custom_call @mystery` has no derivative rule
// CHECK: model.sexp:12:5
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.custom_call @mystery(%x) : (tensor<f32>) -> tensor<f32> loc("model.sexp":12:5 to :20)
  return %y : tensor<f32>
}
