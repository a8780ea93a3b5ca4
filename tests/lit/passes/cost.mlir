// A multiply-add is two operations, an element of anything else one; moving data is free.
// RUN: %sexpc opt --pass cost %s | %filecheck %s

// 2 · 8 · 4 · 3 for the dot, 24 for the exponential; the dot's operands and result through memory.
// CHECK: \22cost\22: {\22flops\22: 216, \22bytes\22: 272}
func.func private @train(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<24xf32> attributes {sexp.role = "train"} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %e = stablehlo.exponential %y : tensor<8x3xf32>
  %r = stablehlo.reshape %e : (tensor<8x3xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}
