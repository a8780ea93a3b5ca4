// softmax(q kᵀ) v is one kernel, causal where the mask's numbers say so; another mask stays.
// RUN: %sexpc opt --pass attention-avx2 %s | %filecheck %s

// CHECK: stream.executable private @attention_forward_0
// CHECK-LABEL: func.func @causal
// CHECK: flow.dispatch @attention_forward_0::@attention_forward_0(%arg0, %arg1, %arg2)
// CHECK-NOT: stablehlo.exponential
// CHECK: return
func.func @causal(%q: tensor<2x2x16x8xf32>, %k: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %rows = stablehlo.iota dim = 0 : tensor<16x16xi32>
  %columns = stablehlo.iota dim = 1 : tensor<16x16xi32>
  %seen = stablehlo.compare GE, %rows, %columns, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
  %mask = stablehlo.broadcast_in_dim %seen, dims = [2, 3] : (tensor<16x16xi1>) -> tensor<2x2x16x16xi1>
  %unseen = stablehlo.constant dense<-1.0e30> : tensor<2x2x16x16xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<2x2x16x1xf32>
  %p = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x16xf32>
  %s = stablehlo.select %mask, %p, %unseen : tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
  %top = stablehlo.reshape %m : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
  %wide = stablehlo.broadcast_in_dim %top, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
  %less = stablehlo.subtract %s, %wide : tensor<2x2x16x16xf32>
  %e = stablehlo.exponential %less : tensor<2x2x16x16xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
  %sum = stablehlo.reshape %t : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
  %share = stablehlo.divide %one, %sum : tensor<2x2x16x1xf32>
  %found = stablehlo.dot_general %e, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32>
  %shares = stablehlo.broadcast_in_dim %share, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x8xf32>
  %r = stablehlo.multiply %found, %shares : tensor<2x2x16x8xf32>
  return %r : tensor<2x2x16x8xf32>
}

// One place off the diagonal is another mask.
// CHECK-LABEL: func.func @another_mask
// CHECK-NOT: flow.dispatch
// CHECK: stablehlo.exponential
func.func @another_mask(%q: tensor<2x2x16x8xf32>, %k: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32> {
  %rows = stablehlo.iota dim = 0 : tensor<16x16xi32>
  %columns = stablehlo.iota dim = 1 : tensor<16x16xi32>
  %seen = stablehlo.compare GT, %rows, %columns, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
  %mask = stablehlo.broadcast_in_dim %seen, dims = [2, 3] : (tensor<16x16xi1>) -> tensor<2x2x16x16xi1>
  %unseen = stablehlo.constant dense<-1.0e30> : tensor<2x2x16x16xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<2x2x16x1xf32>
  %p = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x16xf32>
  %s = stablehlo.select %mask, %p, %unseen : tensor<2x2x16x16xi1>, tensor<2x2x16x16xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
  %top = stablehlo.reshape %m : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
  %wide = stablehlo.broadcast_in_dim %top, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x16xf32>
  %less = stablehlo.subtract %s, %wide : tensor<2x2x16x16xf32>
  %e = stablehlo.exponential %less : tensor<2x2x16x16xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x2x16x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
  %sum = stablehlo.reshape %t : (tensor<2x2x16xf32>) -> tensor<2x2x16x1xf32>
  %share = stablehlo.divide %one, %sum : tensor<2x2x16x1xf32>
  %found = stablehlo.dot_general %e, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x2x16x16xf32>, tensor<2x2x16x8xf32>) -> tensor<2x2x16x8xf32>
  %shares = stablehlo.broadcast_in_dim %share, dims = [0, 1, 2, 3] : (tensor<2x2x16x1xf32>) -> tensor<2x2x16x8xf32>
  %r = stablehlo.multiply %found, %shares : tensor<2x2x16x8xf32>
  return %r : tensor<2x2x16x8xf32>
}
