// Sums over leading axes of what lies in memory, and of sums and products of it, are kernels that read it as it lies.
// RUN: %sexpc opt --pass columns %s | %filecheck %s

// CHECK-LABEL: func.func @plain
// CHECK: flow.dispatch.workgroups(%{{.*}}) : (tensor<512x32xf32>) -> tensor<2x32xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<2x32xf32>
func.func @plain(%x: tensor<4x128x32xf32>) -> tensor<32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x128x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// CHECK-LABEL: func.func @computed
// CHECK: flow.dispatch.workgroups({{.*}}) : (tensor<64x32xf32>, tensor<64xf32>) -> tensor<1x32xf32>
// CHECK: tensor.extract
// CHECK: arith.mulf {{.*}} : vector<8xf32>
func.func @computed(%x: tensor<64x32xf32>, %m: tensor<64xf32>) -> tensor<32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x32xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<64x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

// An exponential is computed where IREE sums it; so are few rows, and columns that are no whole vectors.
// CHECK-LABEL: func.func @others
// CHECK-NOT: flow.dispatch.workgroups
func.func @others(%x: tensor<64x32xf32>, %y: tensor<24x32xf32>, %z: tensor<64x30xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<30xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<64x32xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  %2 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<24x32xf32>, tensor<f32>) -> tensor<32xf32>
  %3 = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x30xf32>, tensor<f32>) -> tensor<30xf32>
  return %1, %2, %3 : tensor<32xf32>, tensor<32xf32>, tensor<30xf32>
}
