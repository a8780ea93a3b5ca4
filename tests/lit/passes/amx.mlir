// Products and gradients of weights in AMX's tiles, with what is added to them; what has no whole tiles stays.
// RUN: %sexpc opt --pass weights-amx --pass dense-amx %s | %filecheck %s

// CHECK: stream.executable private @amx_products_product
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-24: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK: stream.executable private @amx_products_gradient

// CHECK-LABEL: func.func @layer
// CHECK: %[[P:.*]] = flow.dispatch @amx_products_product{{.*}}(%arg0, %arg1, %arg2) : (tensor<128x96xf32>, tensor<96x160xf32>, tensor<160xf32>) -> tensor<128x160xf32>
// CHECK: %[[G:.*]]:2 = flow.dispatch @amx_products_gradient{{.*}}(%arg0, %[[P]]) : (tensor<128x96xf32>, tensor<128x160xf32>) -> (tensor<96x160xf32>, tensor<160xf32>)
// CHECK: return %[[G]]#0, %[[G]]#1
func.func @layer(%x: tensor<128x96xf32>, %w: tensor<96x160xf32>, %b: tensor<160xf32>) -> (tensor<96x160xf32>, tensor<160xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x96xf32>, tensor<96x160xf32>) -> tensor<128x160xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<160xf32>) -> tensor<128x160xf32>
  %2 = stablehlo.add %0, %1 : tensor<128x160xf32>
  %3 = stablehlo.dot_general %x, %2, contracting_dims = [0] x [0] : (tensor<128x96xf32>, tensor<128x160xf32>) -> tensor<96x160xf32>
  %4 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128x160xf32>, tensor<f32>) -> tensor<160xf32>
  return %3, %4 : tensor<96x160xf32>, tensor<160xf32>
}

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-4: stablehlo.dot_general
func.func @stays(%x: tensor<128x128xf32>, %narrow: tensor<128x72xf32>, %low: tensor<136x128xf32>, %d: tensor<128x128xf64>) -> (tensor<128x72xf32>, tensor<128x72xf32>, tensor<136x128xf32>, tensor<128x128xf64>) {
  %0 = stablehlo.dot_general %x, %narrow, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x72xf32>) -> tensor<128x72xf32>
  %1 = stablehlo.dot_general %x, %narrow, contracting_dims = [0] x [0] : (tensor<128x128xf32>, tensor<128x72xf32>) -> tensor<128x72xf32>
  %2 = stablehlo.dot_general %low, %x, contracting_dims = [1] x [0] : (tensor<136x128xf32>, tensor<128x128xf32>) -> tensor<136x128xf32>
  %3 = stablehlo.dot_general %d, %d, contracting_dims = [1] x [0] : (tensor<128x128xf64>, tensor<128x128xf64>) -> tensor<128x128xf64>
  return %0, %1, %2, %3 : tensor<128x72xf32>, tensor<128x72xf32>, tensor<136x128xf32>, tensor<128x128xf64>
}
