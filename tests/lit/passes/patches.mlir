// A convolution is a product of its windows, side by side; one in groups stays.
// RUN: %sexpc opt --pass patches %s | %filecheck %s

// CHECK-LABEL: func.func @strided
// CHECK: stablehlo.pad {{.*}} low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0]
// CHECK-COUNT-9: stablehlo.slice
// CHECK: stablehlo.concatenate {{.*}} dim = 3 {{.*}} -> tensor<2x3x3x36xf32>
// CHECK: stablehlo.dot_general {{.*}} (tensor<18x36xf32>, tensor<36x8xf32>) -> tensor<18x8xf32>
// CHECK-NOT: stablehlo.convolution
func.func @strided(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<2x3x3x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x3x3x8xf32>
  return %0 : tensor<2x3x3x8xf32>
}

// CHECK-LABEL: func.func @grouped
// CHECK: stablehlo.convolution
func.func @grouped(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x2x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x6x4xf32>, tensor<3x3x2x8xf32>) -> tensor<2x4x4x8xf32>
  return %0 : tensor<2x4x4x8xf32>
}
