// Nothing is computed twice, no zero is built for what takes no part, integers end the flow.
// RUN: %sexpc opt --pass "autodiff{function=f wrt=0}" %s | %filecheck %s

// CHECK: func.func @f(%[[X:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
func.func @f(%x: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<f32> {
  // CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %[[X]]
  %e = stablehlo.exponential %x : tensor<4xf32>
  // CHECK-NEXT: stablehlo.convert
  // CHECK-NEXT: stablehlo.convert
  %i = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %j = stablehlo.convert %i : (tensor<4xi32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[C]]
  %a = stablehlo.add %c, %j : tensor<4xf32>
  // CHECK-NEXT: stablehlo.multiply %[[E]], %[[A]]
  %m = stablehlo.multiply %e, %a : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: stablehlo.reduce
  %loss = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00>
  // CHECK-NEXT: %[[G:.*]] = stablehlo.broadcast_in_dim %[[ONE]]
  // CHECK-NEXT: %[[GE:.*]] = stablehlo.multiply %[[G]], %[[A]]
  // CHECK-NEXT: %[[GX:.*]] = stablehlo.multiply %[[GE]], %[[E]]
  // CHECK-NEXT: return %{{.*}}, %[[GX]]
  return %loss : tensor<f32>
}
