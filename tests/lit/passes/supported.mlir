// A dtype that the target cannot run, with its place and one that works.
// RUN: not %sexpc opt --pass supported-vulkan %s 2>&1 | %filecheck %s
// RUN: %sexpc opt --pass supported-cuda %s | %filecheck %s --check-prefix=CUDA

// CHECK: error[E-TARGET-004]: `vulkan` cannot run arithmetic on f64
// CHECK: model.sexp:3:5
// CHECK: fix: f32 works there
// CUDA: stablehlo.add
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.add %x, %x : tensor<4xf64> loc("model.sexp":3:5 to :9)
  return %0 : tensor<4xf64>
}
