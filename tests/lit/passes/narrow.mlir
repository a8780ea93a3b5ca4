// A product of which only a slice is read computes that slice, of batches, rows and columns; one that is read elsewhere
// too, or in steps, stays.
// RUN: %sexpc opt --pass narrow %s | %filecheck %s

// CHECK-LABEL: func.func @columns
// CHECK: %[[W:.*]] = stablehlo.slice %arg1 [2:34, 0:128]
// CHECK: %[[Y:.*]] = stablehlo.dot_general %arg0, %[[W]], contracting_dims = [1] x [1] {{.*}} -> tensor<64x32xf32>
// CHECK: return %[[Y]]
func.func @columns(%g: tensor<64x128xf32>, %w: tensor<34x128xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.dot_general %g, %w, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<34x128xf32>) -> tensor<64x34xf32>
  %1 = stablehlo.slice %0 [0:64, 2:34] : (tensor<64x34xf32>) -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @batches
// CHECK: %[[A:.*]] = stablehlo.slice %arg0 [1:3, 0:5, 0:4]
// CHECK: %[[B:.*]] = stablehlo.slice %arg1 [0:5, 3:6, 1:3]
// CHECK: stablehlo.dot_general %[[A]], %[[B]], batching_dims = [0] x [2], contracting_dims = [1] x [0] {{.*}} -> tensor<2x4x3xf32>
func.func @batches(%a: tensor<3x5x7xf32>, %b: tensor<5x6x3xf32>) -> tensor<2x4x3xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [1] x [0] : (tensor<3x5x7xf32>, tensor<5x6x3xf32>) -> tensor<3x7x6xf32>
  %1 = stablehlo.slice %0 [1:3, 0:4, 3:6] : (tensor<3x7x6xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: stablehlo.dot_general {{.*}} -> tensor<4x4xf32>
func.func @others(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>, tensor<4x2xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.slice %0 [0:4, 0:2] : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.slice %2 [0:4, 0:4:2] : (tensor<4x4xf32>) -> tensor<4x2xf32>
  return %1, %0, %3 : tensor<4x2xf32>, tensor<4x4xf32>, tensor<4x2xf32>
}
