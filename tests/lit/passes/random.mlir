// A site becomes words of the generator, from a key that is made once a function.
// RUN: %sexpc opt --pass random %s | %filecheck %s

// CHECK: func.func private @train(%[[X:.*]]: tensor<3xf32>, %[[KEY:.*]]: tensor<4xi64>)
// CHECK-SAME: sexp.arguments = ["field:0", "key"]
func.func private @train(%x: tensor<3xf32>) -> tensor<f32> attributes {sexp.role = "train"} {
  // CHECK-COUNT-2: stablehlo.rng_bit_generator
  // CHECK: stablehlo.constant dense<8589934592> : tensor<1xui64>
  // CHECK: stablehlo.rng_bit_generator {{.*}} -> (tensor<2xui64>, tensor<4xui32>)
  // CHECK-NEXT: stablehlo.slice {{.*}} [0:3]
  %a = stablehlo.custom_call @sexp.random() {api_version = 4 : i32, has_side_effect = true, backend_config = {site = 2 : i64}} : () -> tensor<3xui32>
  // CHECK: stablehlo.constant dense<12884901888> : tensor<1xui64>
  // CHECK: stablehlo.rng_bit_generator {{.*}} -> (tensor<2xui64>, tensor<4xui32>)
  // CHECK-NEXT: stablehlo.reshape {{.*}} -> tensor<2x2xui32>
  %b = stablehlo.custom_call @sexp.random() {api_version = 4 : i32, has_side_effect = true, backend_config = {site = 3 : i64}} : () -> tensor<2x2xui32>
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK-NOT: custom_call
  return %0 : tensor<f32>
}
// CHECK: func.func private @init.w(%{{.*}}: tensor<i64>, %{{.*}}: tensor<1xui64>)
func.func private @init.w() -> tensor<2xui32> attributes {sexp.role = "init"} {
  // CHECK-COUNT-2: stablehlo.rng_bit_generator
  %a = stablehlo.custom_call @sexp.random() {api_version = 4 : i32, has_side_effect = true, backend_config = {site = 0 : i64}} : () -> tensor<2xui32>
  return %a : tensor<2xui32>
}
