// Products of f32 get a tile; those over the rows of both operands, of other dtypes, or narrower than a tile stay.
// RUN: %sexpc opt --pass products-avx2 %s | %filecheck %s

// CHECK-DAG: #[[CONFIG:.*]] = #iree_cpu.lowering_config<distribution = [48, 128, 0], vector_common_parallel = [6, 16, 0], vector_reduction = [0, 0, 4]>

// A bias is added to the tile, and the function of it reads memory.
// CHECK-LABEL: func.func @layer
// CHECK: linalg.matmul
// CHECK: %[[SUM:.*]] = stablehlo.add
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[SUM]]
// CHECK: stablehlo.tanh %[[HELD]]
func.func @layer(%x: tensor<64x32xf32>, %w: tensor<32x128xf32>, %b: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %1 = stablehlo.add %0, %b : tensor<64x128xf32>
  %2 = stablehlo.tanh %1 : tensor<64x128xf32>
  return %2 : tensor<64x128xf32>
}

// What several products read is stored once; the right operand is turned, the gradient of the weight is left alone.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[Y:.*]] = stablehlo.multiply
// CHECK: %[[G:.*]] = stablehlo.optimization_barrier %[[Y]]
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0]
// CHECK: linalg.matmul
// CHECK: stablehlo.dot_general %{{.*}}, %[[G]], contracting_dims = [0] x [0]
func.func @gradient(%x: tensor<64x32xf32>, %w: tensor<32x128xf32>, %g: tensor<64x128xf32>) -> (tensor<64x32xf32>, tensor<32x128xf32>) {
  %0 = stablehlo.multiply %g, %g : tensor<64x128xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<32x128xf32>) -> tensor<64x32xf32>
  %2 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<64x32xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
  return %1, %2 : tensor<64x32xf32>, tensor<32x128xf32>
}

// CHECK-LABEL: func.func @batches
// CHECK: linalg.batch_matmul
// CHECK-SAME: tensor<8x128x32xf32>
func.func @batches(%q: tensor<2x4x128x32xf32>, %k: tensor<2x4x128x32xf32>) -> tensor<2x4x128x128xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x128x32xf32>, tensor<2x4x128x32xf32>) -> tensor<2x4x128x128xf32>
  return %0 : tensor<2x4x128x128xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT: linalg
func.func @others(%x: tensor<64x32xf32>, %w: tensor<32x10xf32>, %a: tensor<64x32xf64>, %b: tensor<32x16xf64>) -> (tensor<64x10xf32>, tensor<64x16xf64>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x10xf32>) -> tensor<64x10xf32>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x32xf64>, tensor<32x16xf64>) -> tensor<64x16xf64>
  return %0, %1 : tensor<64x10xf32>, tensor<64x16xf64>
}
