// Rows taken from a table and added to one are kernels of vectors; small gathers and other layouts stay.
// RUN: %sexpc opt --pass lookups %s | %filecheck %s

// The clamp is the kernel's.
// CHECK-LABEL: func.func @rows
// CHECK: flow.dispatch.workgroups
// CHECK: vector.transfer_read {{.*}} vector<64xf32>
// CHECK-NOT: stablehlo.gather
func.func @rows(%x: tensor<50x128xf32>, %i: tensor<200xi32>) -> tensor<200x128xf32> {
  %low = stablehlo.constant dense<0> : tensor<200xi32>
  %high = stablehlo.constant dense<49> : tensor<200xi32>
  %0 = stablehlo.minimum %i, %high : tensor<200xi32>
  %1 = stablehlo.maximum %0, %low : tensor<200xi32>
  %2 = "stablehlo.gather"(%x, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>}> : (tensor<50x128xf32>, tensor<200xi32>) -> tensor<200x128xf32>
  return %2 : tensor<200x128xf32>
}

// Of an inner axis, all batches have the same indices.
// CHECK-LABEL: func.func @inner
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<120xi32>) -> tensor<20x120xi32>
// CHECK: flow.dispatch.workgroups
// CHECK: vector.transfer_read {{.*}} vector<8xf32>
// CHECK-NOT: stablehlo.gather
func.func @inner(%x: tensor<20x30x8xf32>, %i: tensor<120xi32>) -> tensor<20x120x8xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 20, 1, 8>}> : (tensor<20x30x8xf32>, tensor<120xi32>) -> tensor<20x120x8xf32>
  return %0 : tensor<20x120x8xf32>
}

// CHECK-LABEL: func.func @few
// CHECK: stablehlo.gather
func.func @few(%x: tensor<50x128xf32>, %i: tensor<20xi32>) -> tensor<20x128xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>}> : (tensor<50x128xf32>, tensor<20xi32>) -> tensor<20x128xf32>
  return %0 : tensor<20x128xf32>
}

// Indices that may be out of range drop their updates; five pieces of 40 columns.
// CHECK-LABEL: func.func @added
// CHECK: flow.dispatch.workgroups
// CHECK: scf.if
// CHECK: arith.addf {{.*}} vector<40xf32>
// CHECK: arith.constant 5 : index
func.func @added(%x: tensor<9x200xf32>, %i: tensor<20x1xi32>, %y: tensor<20x200xf32>) -> tensor<9x200xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<9x200xf32>, tensor<20x1xi32>, tensor<20x200xf32>) -> tensor<9x200xf32>
  return %0 : tensor<9x200xf32>
}

// CHECK-LABEL: func.func @larger
// CHECK: stablehlo.scatter
func.func @larger(%x: tensor<9x8xf32>, %i: tensor<20x1xi32>, %y: tensor<20x8xf32>) -> tensor<9x8xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<9x8xf32>, tensor<20x1xi32>, tensor<20x8xf32>) -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}
