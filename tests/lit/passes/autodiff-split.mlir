// The cotangents of a split stand side by side; where a part is missing or two overlap they are added.
// RUN: %sexpc opt --pass "autodiff{function=f wrt=0}" %s | %filecheck %s
// RUN: %sexpc opt --pass "autodiff{function=g wrt=0}" %s | %filecheck %s --check-prefix=OVERLAP

// CHECK-LABEL: func.func @f
// CHECK: %[[G:.*]] = stablehlo.concatenate {{.*}} dim = 1 : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<3x6xf32>
// CHECK: return %{{.*}}, %[[G]]
func.func @f(%x: tensor<3x6xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.slice %x [0:3, 2:6] : (tensor<3x6xf32>) -> tensor<3x4xf32>
  %a = stablehlo.slice %x [0:3, 0:2] : (tensor<3x6xf32>) -> tensor<3x2xf32>
  %c = stablehlo.multiply %a, %a : tensor<3x2xf32>
  %d = stablehlo.tanh %b : tensor<3x4xf32>
  %s = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<f32>
  %t = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  %l = stablehlo.add %s, %t : tensor<f32>
  return %l : tensor<f32>
}

// OVERLAP-LABEL: func.func @g
// OVERLAP-NOT: stablehlo.concatenate
// OVERLAP: %[[G:.*]] = stablehlo.add {{.*}} : tensor<3x6xf32>
// OVERLAP: return %{{.*}}, %[[G]]
func.func @g(%x: tensor<3x6xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.slice %x [0:3, 0:3] : (tensor<3x6xf32>) -> tensor<3x3xf32>
  %b = stablehlo.slice %x [0:3, 2:6] : (tensor<3x6xf32>) -> tensor<3x4xf32>
  %c = stablehlo.multiply %a, %a : tensor<3x3xf32>
  %d = stablehlo.tanh %b : tensor<3x4xf32>
  %s = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<f32>
  %t = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  %l = stablehlo.add %s, %t : tensor<f32>
  return %l : tensor<f32>
}
