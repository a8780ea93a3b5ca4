// The operands of a product are rounded to the compute dtype, its result is not.
// RUN: %sexpc opt --pass precision %s | %filecheck %s

// CHECK-NOT: sexp.compute
module attributes {sexp.compute = "bf16"} {
  // CHECK: func.func private @train(%[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<4xf32>)
  func.func private @train(%x: tensor<8x4xf32>, %w: tensor<4xf32>) -> tensor<8xf32> attributes {sexp.role = "train"} {
    // CHECK: %[[A:.*]] = stablehlo.convert %[[X]] : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    // CHECK: %[[B:.*]] = stablehlo.convert %[[W]] : (tensor<4xf32>) -> tensor<4xbf16>
    // CHECK: stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0] : (tensor<8x4xbf16>, tensor<4xbf16>) -> tensor<8xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  // CHECK: func.func private @optimizer
  func.func private @optimizer(%x: tensor<8x4xf32>, %w: tensor<4xf32>) -> tensor<8xf32> attributes {sexp.role = "optimizer"} {
    // CHECK-NEXT: stablehlo.dot_general {{.*}} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
}
