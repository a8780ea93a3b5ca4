// What the code generator would let share memory is kept apart.
// RUN: %sexpc opt --pass legalize-cpu %s | %filecheck %s
// RUN: %sexpc opt --pass legalize-vulkan %s | %filecheck %s --check-prefix=VULKAN

// An argument that is given back, and read otherwise too, is given back as a copy; one that is only given back is itself.
// CHECK-LABEL: func.func @given_back
// CHECK: %[[COPY:.*]] = stablehlo.select %{{.*}}, %arg0, %{{.*}}
// CHECK: return %{{.*}}, %[[COPY]], %arg2
func.func @given_back(%x: tensor<8xf32>, %u: tensor<2xf32>, %z: tensor<4xf32>, %i: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %0, %x, %z : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

// Numbers of 64 bits are padded with zeros, and the number chosen beside them; narrower ones, and zeros, stay.
// CHECK-LABEL: func.func @padded
// CHECK: %[[INSIDE:.*]] = stablehlo.pad %{{.*}} : (tensor<4xi1>, tensor<i1>) -> tensor<6xi1>
// CHECK: %[[ZEROS:.*]] = stablehlo.pad %arg0
// CHECK: stablehlo.select %[[INSIDE]], %[[ZEROS]], %{{.*}} : tensor<6xi1>, tensor<6xf64>
// CHECK-COUNT-2: stablehlo.pad
// CHECK-NOT: stablehlo.select
func.func @padded(%x: tensor<4xf64>, %y: tensor<4xf32>) -> (tensor<6xf64>, tensor<6xf64>, tensor<6xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %narrow = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %one, low = [1], high = [1], interior = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<6xf64>
  %1 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<6xf64>
  %2 = stablehlo.pad %y, %narrow, low = [1], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return %0, %1, %2 : tensor<6xf64>, tensor<6xf64>, tensor<6xf32>
}

// On Vulkan a reduction goes over neighbouring axes at a time.
// CHECK-LABEL: func.func @apart
// CHECK: across dimensions = [1, 3]
// VULKAN-LABEL: func.func @apart
// VULKAN: across dimensions = [3]
// VULKAN: across dimensions = [1]
func.func @apart(%x: tensor<2x4x4x2xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1, 3] : (tensor<2x4x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
