// Each round reads its row of %xs, so the cotangent of %xs is filled row by row, from the last one, and never summed.
// RUN: %sexpc opt --pass "autodiff{function=f wrt=1}" %s | %filecheck %s

// CHECK: stablehlo.while
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.add {{.*}} : tensor<6x2xf32>
// CHECK: %[[R:.*]] = stablehlo.subtract
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %[[R]], {{.*}} : (tensor<6x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
func.func @f(%h: tensor<2xf32>, %xs: tensor<6x2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %bound = stablehlo.constant dense<6> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %c = %h) : tensor<i32>, tensor<2xf32>
  cond {
    %p = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %row = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, 2] : (tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %x = stablehlo.reshape %row : (tensor<1x2xf32>) -> tensor<2xf32>
    %y = stablehlo.multiply %c, %x : tensor<2xf32>
    stablehlo.return %next, %y : tensor<i32>, tensor<2xf32>
  }
  return %r#1 : tensor<2xf32>
}
