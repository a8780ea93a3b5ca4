// The gradient of a weight and of its bias are one kernel; where the sizes are no whole vectors, they stay.
// RUN: %sexpc opt --pass weights-avx2 %s | %filecheck %s

// CHECK: stream.executable private @weights_gradient_0
// CHECK-LABEL: func.func @layer
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[G:.*]]:2 = flow.dispatch @weights_gradient_0::@weights_gradient_0(%arg0, %{{.*}}) : (tensor<256x128xf32>, tensor<256x64xf32>) -> (tensor<128x64xf32>, tensor<64xf32>)
// CHECK-NOT: stablehlo.reduce
// CHECK: return %[[G]]#0, %[[G]]#1
func.func @layer(%x: tensor<256x128xf32>, %y: tensor<4x64x64xf32>) -> (tensor<128x64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %flat = stablehlo.reshape %y : (tensor<4x64x64xf32>) -> tensor<256x64xf32>
  %w = stablehlo.dot_general %x, %flat, contracting_dims = [0] x [0] : (tensor<256x128xf32>, tensor<256x64xf32>) -> tensor<128x64xf32>
  return %w, %b : tensor<128x64xf32>, tensor<64xf32>
}

// What reads the sum before the product is computed keeps a sum of its own.
// CHECK-LABEL: func.func @read_before
// CHECK: stablehlo.reduce
// CHECK: stablehlo.tanh
// CHECK: flow.dispatch @weights_gradient_0::@weights_gradient_0
func.func @read_before(%x: tensor<256x128xf32>, %y: tensor<256x64xf32>) -> (tensor<128x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x64xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.tanh %b : tensor<64xf32>
  %w = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<256x128xf32>, tensor<256x64xf32>) -> tensor<128x64xf32>
  return %w, %t, %b : tensor<128x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @stays
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.dot_general
func.func @stays(%x: tensor<256x128xf32>, %y: tensor<256x60xf32>, %z: tensor<256x128xf64>) -> (tensor<128x60xf32>, tensor<128x128xf64>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<256x128xf32>, tensor<256x60xf32>) -> tensor<128x60xf32>
  %1 = stablehlo.dot_general %z, %z, contracting_dims = [0] x [0] : (tensor<256x128xf64>, tensor<256x128xf64>) -> tensor<128x128xf64>
  return %0, %1 : tensor<128x60xf32>, tensor<128x128xf64>
}

// What is only read turned is computed the other way round.
// CHECK-LABEL: func.func @turned
// CHECK: %[[W:.*]] = flow.dispatch @[[K:.*]]::@[[K]](%arg1, %arg0) : (tensor<256x64xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT: return %[[W]]
func.func @turned(%x: tensor<256x128xf32>, %y: tensor<256x64xf32>) -> tensor<64x128xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<256x128xf32>, tensor<256x64xf32>) -> tensor<128x64xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<128x64xf32>) -> tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}

// What a gradient is only added to, if a flag says so, the kernel takes.
// CHECK-LABEL: func.func @total
// CHECK: %[[S:.*]] = flow.dispatch @[[K:.*]]::@[[K]](%arg0, %arg1, %arg2, %{{.*}}) : (tensor<256x128xf32>, tensor<256x64xf32>, tensor<128x64xf32>, tensor<1xf32>) -> tensor<128x64xf32>
// CHECK-NOT: stablehlo.select
// CHECK: return %[[S]]
func.func @total(%x: tensor<256x128xf32>, %y: tensor<256x64xf32>, %sum: tensor<128x64xf32>, %flag: tensor<i1>) -> tensor<128x64xf32> {
  %w = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<256x128xf32>, tensor<256x64xf32>) -> tensor<128x64xf32>
  %f = stablehlo.broadcast_in_dim %flag, dims = [] : (tensor<i1>) -> tensor<128x64xi1>
  %more = stablehlo.add %sum, %w : tensor<128x64xf32>
  %new = stablehlo.select %f, %more, %w : tensor<128x64xi1>, tensor<128x64xf32>
  return %new : tensor<128x64xf32>
}
