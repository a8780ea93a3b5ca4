// What is under `remat` is computed again on the way back, once the cotangent is known; its branch then stands in its place.
// RUN: %sexpc opt --pass "autodiff{function=f wrt=0}" %s | %filecheck %s

// CHECK: func.func @f(%[[X:.*]]: tensor<4xf32>, %[[G:.*]]: tensor<4xf32>)
// CHECK-NOT: stablehlo.case
// CHECK: stablehlo.exponential %[[X]]
// CHECK: %[[ONE:.*]] = stablehlo.slice %[[G]] [0:1]
// CHECK: %[[HELD:.*]] = stablehlo.add %[[X]], %{{.*}}
// CHECK: %[[E:.*]] = stablehlo.exponential %[[HELD]]
// CHECK: stablehlo.cosine %[[E]]
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.case"(%zero) ({
    %e = stablehlo.exponential %x : tensor<4xf32>
    %s = stablehlo.sine %e : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }) {sexp.remat} : (tensor<i32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
