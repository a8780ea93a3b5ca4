// A product with a matrix is a kernel, with the bias and the tensors that are added to it and to nothing else.
// RUN: %sexpc opt --pass dense-avx2 %s | %filecheck %s

// CHECK-LABEL: func.func @layer
// CHECK-NOT: stablehlo.add
// CHECK: flow.dispatch @[[K:.*]]::@[[K]](%arg0, %arg1, %arg2, %{{.*}}) : (tensor<128x128xf32>, tensor<128x64xf32>, tensor<64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
// CHECK-NOT: stablehlo.add
// CHECK: stablehlo.sine
func.func @layer(%x: tensor<128x128xf32>, %w: tensor<128x64xf32>, %b: tensor<64xf32>, %r: tensor<2x64x64xf32>) -> tensor<2x64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %1 = stablehlo.reshape %0 : (tensor<128x64xf32>) -> tensor<2x64x64xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<64xf32>) -> tensor<2x64x64xf32>
  %3 = stablehlo.add %1, %2 : tensor<2x64x64xf32>
  %4 = stablehlo.add %r, %3 : tensor<2x64x64xf32>
  %5 = stablehlo.sine %4 : tensor<2x64x64xf32>
  return %5 : tensor<2x64x64xf32>
}

// A sum that is not the only reader is left to itself, and the matrix is read across where it lies turned.
// CHECK-LABEL: func.func @shared
// CHECK: %[[P:.*]] = flow.dispatch @[[T:.*]]::@[[T]](%arg0, %arg1) : (tensor<128x128xf32>, tensor<64x128xf32>) -> tensor<128x64xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[P]], %[[P]]
// CHECK: return %[[P]], %[[S]]
func.func @shared(%x: tensor<128x128xf32>, %w: tensor<64x128xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<128x128xf32>, tensor<64x128xf32>) -> tensor<128x64xf32>
  %1 = stablehlo.add %0, %0 : tensor<128x64xf32>
  return %0, %1 : tensor<128x64xf32>, tensor<128x64xf32>
}

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: stablehlo.dot_general
func.func @stays(%x: tensor<128x128xf32>, %narrow: tensor<128x60xf32>, %d: tensor<128x128xf64>, %q: tensor<8x128x128xf32>) -> (tensor<128x60xf32>, tensor<128x128xf64>, tensor<8x128x128xf32>) {
  %0 = stablehlo.dot_general %x, %narrow, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x60xf32>) -> tensor<128x60xf32>
  %1 = stablehlo.dot_general %d, %d, contracting_dims = [1] x [0] : (tensor<128x128xf64>, tensor<128x128xf64>) -> tensor<128x128xf64>
  %2 = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x128x128xf32>, tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
  return %0, %1, %2 : tensor<128x60xf32>, tensor<128x128xf64>, tensor<8x128x128xf32>
}

// An activation and its slope are computed where the product is, and nothing else is kept of it.
// CHECK-LABEL: func.func @activation
// CHECK: %[[R:.*]]:2 = flow.dispatch @[[A:.*]]::@[[A]](%arg0, %arg1) : (tensor<128x128xf32>, tensor<128x64xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>)
// CHECK-NOT: stablehlo.tanh
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @activation(%x: tensor<128x128xf32>, %w: tensor<128x64xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %1 = stablehlo.tanh %0 : tensor<128x64xf32>
  %one = stablehlo.constant dense<1.0> : tensor<128x64xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<128x64xf32>
  %3 = stablehlo.subtract %one, %2 : tensor<128x64xf32>
  return %1, %3 : tensor<128x64xf32>, tensor<128x64xf32>
}

// A factor is taken in, and a transposed matrix is read as it lies.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[M:.*]] = flow.dispatch @[[F:.*]]::@[[F]](%arg0, %arg1, %arg2) : (tensor<128x128xf32>, tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
// CHECK-NEXT: return %[[M]]
func.func @scaled(%x: tensor<128x128xf32>, %w: tensor<64x128xf32>, %f: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %0 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  %1 = stablehlo.multiply %f, %0 : tensor<128x64xf32>
  return %1 : tensor<128x64xf32>
}
