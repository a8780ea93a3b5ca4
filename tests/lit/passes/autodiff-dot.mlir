// The gradients of a matmul are two more, and no transpose.
// RUN: %sexpc opt --pass "autodiff{function=f wrt=0,1}" %s | %filecheck %s

// CHECK: func.func @f(%[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<4x3xf32>, %[[G:.*]]: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<8x4xf32>, tensor<4x3xf32>)
// CHECK-SAME: sexp.results = ["loss", "grad:field:0", "grad:field:1"]
func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<8x3xf32> {
  // CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %[[X]], %[[W]]
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  // CHECK-NEXT: %[[DX:.*]] = stablehlo.dot_general %[[G]], %[[W]], contracting_dims = [1] x [1]
  // CHECK-NEXT: %[[DW:.*]] = stablehlo.dot_general %[[X]], %[[G]], contracting_dims = [0] x [0]
  // CHECK-NEXT: return %[[Y]], %[[DX]], %[[DW]]
  return %y : tensor<8x3xf32>
}
