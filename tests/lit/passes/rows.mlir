// Sums over rows and what is computed of them stand in one region.
// RUN: %sexpc opt --pass rows %s | %filecheck %s

// Both sums of a layer norm; the column sum outside computes the centred rows again, of their mean.
// CHECK-LABEL: func.func @centred
// CHECK: flow.dispatch.region -> (tensor<64xf32>, tensor<64x128xf32>)
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: flow.return
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<64xf32>)
// CHECK: %[[AGAIN:.*]] = stablehlo.subtract %arg0
// CHECK: stablehlo.reduce(%[[AGAIN]] {{.*}} across dimensions = [0]
func.func @centred(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.reshape %0 : (tensor<64xf32>) -> tensor<64x1xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x128xf32>
  %3 = stablehlo.subtract %x, %2 : tensor<64x128xf32>
  %4 = stablehlo.multiply %3, %3 : tensor<64x128xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %6 = stablehlo.rsqrt %5 : tensor<64xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %8 = stablehlo.multiply %3, %7 : tensor<64x128xf32>
  %9 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x128xf32>, tensor<f32>) -> tensor<128xf32>
  return %8, %9 : tensor<64x128xf32>, tensor<128xf32>
}

// An exponential that a sum reads is stored, not computed twice: it ends a kernel.
// CHECK-LABEL: func.func @softmax
// CHECK: flow.dispatch.region -> (tensor<64x128xf32>)
// CHECK: stablehlo.exponential
// CHECK: flow.return
// CHECK: flow.dispatch.region -> (tensor<64x128xf32>)
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.divide
// CHECK: flow.return
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<64x128xf32>
  %3 = stablehlo.exponential %2 : tensor<64x128xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %6 = stablehlo.divide %3, %5 : tensor<64x128xf32>
  return %6 : tensor<64x128xf32>
}

// What compares with the numbers of the classes compares inside, though others read it as well.
// CHECK-LABEL: func.func @classes
// CHECK: stablehlo.exponential
// CHECK: flow.dispatch.region -> (tensor<512x4096xf32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%{{.*}} : tensor<512xi32>)
// CHECK-DAG: linalg.generic {{.*}} ins(%{{.*}} : tensor<4096xi32>)
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: stablehlo.divide
// CHECK: flow.return
func.func @classes(%x: tensor<512x4096xf32>, %t: tensor<512xi32>) -> (tensor<512x4096xf32>, tensor<512x4096xi1>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %numbers = stablehlo.iota dim = 0 : tensor<4096xi32>
  %classes = stablehlo.broadcast_in_dim %numbers, dims = [1] : (tensor<4096xi32>) -> tensor<512x4096xi32>
  %target = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<512xi32>) -> tensor<512x4096xi32>
  %there = stablehlo.compare EQ, %target, %classes, SIGNED : (tensor<512x4096xi32>, tensor<512x4096xi32>) -> tensor<512x4096xi1>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x4096xf32>, tensor<f32>) -> tensor<512xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x4096xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<512x4096xf32>
  %3 = stablehlo.exponential %2 : tensor<512x4096xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x4096xf32>, tensor<f32>) -> tensor<512xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<512xf32>) -> tensor<512x4096xf32>
  %6 = stablehlo.divide %3, %5 : tensor<512x4096xf32>
  %7 = stablehlo.select %there, %3, %6 : tensor<512x4096xi1>, tensor<512x4096xf32>
  return %7, %there : tensor<512x4096xf32>, tensor<512x4096xi1>
}

// One sum whose result goes elsewhere is left to the code generator.
// CHECK-LABEL: func.func @lone
// CHECK-NOT: flow.dispatch.region
func.func @lone(%x: tensor<64x128xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
