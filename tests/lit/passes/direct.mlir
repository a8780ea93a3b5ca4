// A convolution gets a tile that divides the width; features are filled up to eight. What does not fit stays.
// RUN: %sexpc opt --pass direct-avx2 %s | %filecheck %s

// CHECK-DAG: #[[FEW:.*]] = #iree_cpu.lowering_config<distribution = [1, 7, 7, 8, 0, 0, 0], vector_common_parallel = [1, 1, 7, 8, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]>
// CHECK-DAG: #[[MANY:.*]] = #iree_cpu.lowering_config<distribution = [1, 7, 28, 32, 0, 0, 0], vector_common_parallel = [1, 1, 4, 16, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]>

// What lies in memory is read once: the padded input, and the result.
// CHECK-LABEL: func.func @whole
// CHECK: %[[P:.*]] = stablehlo.pad {{.*}} low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0]
// CHECK: %[[X:.*]] = stablehlo.optimization_barrier %[[P]]
// CHECK: %[[W:.*]] = stablehlo.optimization_barrier
// CHECK: %[[Y:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}}dilations = dense<1>{{.*}}strides = dense<1>{{.*}} ins(%[[X]], %[[W]]
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[Y]]
// CHECK: return %[[HELD]]
func.func @whole(%x: tensor<2x28x28x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<2x28x28x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x28x28x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x28x28x32xf32>
  return %0 : tensor<2x28x28x32xf32>
}

// CHECK-LABEL: func.func @strided
// CHECK: stablehlo.pad {{.*}} -> tensor<3x3x4x8xf32>
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}}strides = dense<2>
// CHECK: stablehlo.slice {{.*}} -> tensor<2x7x7x1xf32>
func.func @strided(%x: tensor<2x15x15x4xf32>, %w: tensor<3x3x4x1xf32>) -> tensor<2x7x7x1xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x15x15x4xf32>, tensor<3x3x4x1xf32>) -> tensor<2x7x7x1xf32>
  return %0 : tensor<2x7x7x1xf32>
}

// A width of 13, one channel, groups, a kernel larger than the cache.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: stablehlo.convolution
// CHECK-NOT: linalg
func.func @others(%x: tensor<2x13x13x4xf32>, %w: tensor<1x1x4x8xf32>, %y: tensor<2x8x8x1xf32>, %v: tensor<1x1x1x8xf32>, %z: tensor<2x8x8x4xf32>, %u: tensor<1x1x2x8xf32>, %k: tensor<1x1x4x32768xf32>) -> (tensor<2x13x13x8xf32>, tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>, tensor<2x8x8x32768xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x13x4xf32>, tensor<1x1x4x8xf32>) -> tensor<2x13x13x8xf32>
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x1xf32>, tensor<1x1x1x8xf32>) -> tensor<2x8x8x8xf32>
  %2 = stablehlo.convolution(%z, %u) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<1x1x2x8xf32>) -> tensor<2x8x8x8xf32>
  %3 = stablehlo.convolution(%z, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<1x1x4x32768xf32>) -> tensor<2x8x8x32768xf32>
  return %0, %1, %2, %3 : tensor<2x13x13x8xf32>, tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>, tensor<2x8x8x32768xf32>
}
