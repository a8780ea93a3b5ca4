// Sums over rows and what is computed of them stand in one region.
// RUN: %sexpc opt --pass rows %s | %filecheck %s

// Both sums and the division; the column sum reads what the region gives.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[Y:.*]] = flow.dispatch.region -> (tensor<64x128xf32>)
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [1]
// CHECK: stablehlo.exponential
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: %[[D:.*]] = stablehlo.divide
// CHECK: flow.return %[[D]]
// CHECK: stablehlo.reduce(%[[Y]] {{.*}} across dimensions = [0]
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<128xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<64x128xf32>
  %3 = stablehlo.exponential %2 : tensor<64x128xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %5 = stablehlo.reshape %4 : (tensor<64xf32>) -> tensor<64x1xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x128xf32>
  %7 = stablehlo.divide %3, %6 : tensor<64x128xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x128xf32>, tensor<f32>) -> tensor<128xf32>
  return %8 : tensor<128xf32>
}

// What a sum that waits for something outside needs is computed again there, of the mean: `centred` is not stored.
// CHECK-LABEL: func.func @apart
// CHECK: flow.dispatch.region -> (tensor<64xf32>, tensor<64x128xf32>)
// CHECK: stablehlo.dot_general
// CHECK: flow.dispatch.region -> (tensor<64x128xf32>)
// CHECK: linalg.generic
// CHECK: stablehlo.subtract %arg0
func.func @apart(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>) -> tensor<64x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %centred = stablehlo.subtract %x, %1 : tensor<64x128xf32>
  %2 = stablehlo.exponential %centred : tensor<64x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %4 = stablehlo.multiply %centred, %3 : tensor<64x128xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %7 = stablehlo.multiply %6, %3 : tensor<64x128xf32>
  return %7 : tensor<64x128xf32>
}

// One sum whose result goes elsewhere is left to the code generator.
// CHECK-LABEL: func.func @lone
// CHECK-NOT: flow.dispatch.region
func.func @lone(%x: tensor<64x128xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
