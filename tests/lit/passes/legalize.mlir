// A way-round is there unless it is named in `disable`, and only for the targets that need it.
// RUN: %sexpc opt --pass legalize-cuda %s | %filecheck %s --check-prefix=CUDA
// RUN: %sexpc opt --pass legalize-cpu %s | %filecheck %s --check-prefix=CPU
// RUN: %sexpc opt --pass "legalize-cpu{disable=unsigned-convert,mask-convert}" %s | %filecheck %s --check-prefix=OFF

func.func @f(%a: tensor<4xui8>, %m: tensor<4xi1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  // CPU: stablehlo.convert %{{.*}} : (tensor<4xui8>) -> tensor<4xi32>
  // CPU-NEXT: stablehlo.convert %{{.*}} : (tensor<4xi32>) -> tensor<4xf32>
  // OFF: stablehlo.convert %{{.*}} : (tensor<4xui8>) -> tensor<4xf32>
  %0 = stablehlo.convert %a : (tensor<4xui8>) -> tensor<4xf32>
  // CPU: stablehlo.select
  // OFF: stablehlo.convert %{{.*}} : (tensor<4xi1>) -> tensor<4xf32>
  %1 = stablehlo.convert %m : (tensor<4xi1>) -> tensor<4xf32>
  // CPU: stablehlo.negate
  // CPU-NOT: compute_barrier
  // CUDA: stablehlo.negate
  // CUDA-NEXT: iree_tensor_ext.compute_barrier.start
  %2 = stablehlo.negate %x : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
