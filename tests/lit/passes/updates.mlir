// What is stored of one parameter is one kernel, in place of the old values, and what scales the gradient is computed
// again for its norm. No two globals share memory: what else is stored in them is a copy, each its own.
// RUN: %sexpc opt --pass updates-avx2 %s | %filecheck %s

util.global private mutable @p : tensor<64x128xf32>
util.global private mutable @m : tensor<64x128xf32>
util.global private mutable @b : tensor<16xf32>

// CHECK-LABEL: func.func @init
// CHECK: %[[ZEROS:.*]] = stablehlo.reshape %{{.*}} : (tensor<64x128xf32>) -> tensor<8192xf32>
// CHECK: %[[N0:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK: %[[P:.*]] = flow.dispatch @[[COPY:.*]]::@[[COPY]](%[[ZEROS]], %[[N0]]) : (tensor<8192xf32>, tensor<1xf32>) -> tensor<8192xf32>
// CHECK: %[[PW:.*]] = stablehlo.reshape %[[P]]
// CHECK: util.global.store %[[PW]], @p
// CHECK: %[[N1:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK: %[[M:.*]] = flow.dispatch @[[COPY]]::@[[COPY]](%{{.*}}, %[[N1]])
// CHECK: %[[MW:.*]] = stablehlo.reshape %[[M]]
// CHECK: util.global.store %[[MW]], @m
// CHECK: util.global.store %{{.*}}, @b : tensor<16xf32>
func.func @init() {
  %zeros = stablehlo.constant dense<0.0> : tensor<64x128xf32>
  %few = stablehlo.constant dense<0.0> : tensor<16xf32>
  util.global.store %zeros, @p : tensor<64x128xf32>
  util.global.store %zeros, @m : tensor<64x128xf32>
  util.global.store %few, @b : tensor<16xf32>
  return
}

// CHECK-LABEL: func.func @update
// CHECK: stablehlo.reduce
// CHECK: %[[N:.*]]:2 = flow.dispatch @[[K:.*]]::@[[K]](%[[OLD_M:[a-z0-9]*]], %{{.*}}, %[[OLD_P:[a-z0-9]*]], %{{.*}}) : (tensor<8192xf32>, tensor<8192xf32>, tensor<8192xf32>, tensor<1xf32>) -> (%[[OLD_M]], %[[OLD_P]])
// CHECK: util.global.store %{{.*}}, @m
// CHECK: util.global.store %{{.*}}, @p
// CHECK: stablehlo.add %{{.*}} : tensor<16xf32>
// CHECK: util.global.store %{{.*}}, @b
func.func @update(%g: tensor<64x128xf32>, %h: tensor<16xf32>, %scale: tensor<f32>) -> tensor<f32> {
  %p = util.global.load @p : tensor<64x128xf32>
  %m = util.global.load @m : tensor<64x128xf32>
  %b = util.global.load @b : tensor<16xf32>
  %s = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
  %gs = stablehlo.multiply %g, %s : tensor<64x128xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %square = stablehlo.multiply %gs, %gs : tensor<64x128xf32>
  %norm = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<64x128xf32>
  %old = stablehlo.multiply %m, %half : tensor<64x128xf32>
  %new = stablehlo.add %old, %gs : tensor<64x128xf32>
  %after = stablehlo.subtract %p, %new : tensor<64x128xf32>
  util.global.store %new, @m : tensor<64x128xf32>
  util.global.store %after, @p : tensor<64x128xf32>
  %c = stablehlo.add %b, %h : tensor<16xf32>
  util.global.store %c, @b : tensor<16xf32>
  return %norm : tensor<f32>
}
