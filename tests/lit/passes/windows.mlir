// Windows side by side are plain reductions; those that overlap or reach into padding stay.
// RUN: %sexpc opt --pass windows %s | %filecheck %s

// CHECK-LABEL: func.func @beside
// CHECK: stablehlo.slice {{.*}} -> tensor<2x6x8x3xf32>
// CHECK: stablehlo.reshape {{.*}} -> tensor<2x3x2x4x2x3xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [2, 4]
// CHECK-NOT: stablehlo.reduce_window
func.func @beside(%x: tensor<2x7x8x3xf32>) -> tensor<2x3x4x3xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x7x8x3xf32>, tensor<f32>) -> tensor<2x3x4x3xf32>
  return %0 : tensor<2x3x4x3xf32>
}

// CHECK-LABEL: func.func @overlapping
// CHECK: stablehlo.reduce_window
func.func @overlapping(%x: tensor<2x7x3xf32>) -> tensor<2x3x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x7x3xf32>, tensor<f32>) -> tensor<2x3x3xf32>
  return %0 : tensor<2x3x3xf32>
}

// CHECK-LABEL: func.func @padded
// CHECK: stablehlo.reduce_window
func.func @padded(%x: tensor<2x7x3xf32>) -> tensor<2x4x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [0, 1], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x7x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}
