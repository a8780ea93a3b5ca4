// Counters and metrics become results; the manifest says where each number stands.
// RUN: %sexpc opt --pass counters %s | %filecheck %s

// CHECK: {\22name\22: \22loss\22, \22reduce\22: \22mean\22, \22offset\22: 0, \22counter\22: false, \22weighted\22: false}
// CHECK-SAME: {\22name\22: \22share\22, \22reduce\22: \22sum\22, \22offset\22: 2, \22counter\22: true, \22weighted\22: false}
// CHECK-SAME: {\22name\22: \22accuracy\22, \22reduce\22: \22mean\22, \22offset\22: 3, \22counter\22: false, \22weighted\22: true}
// CHECK-SAME: \22size\22: 7
// CHECK-SAME: \22counters\22: [{\22name\22: \22tokens\22, \22dtype\22: \22i64\22}, {\22name\22: \22share\22, \22dtype\22: \22f64\22}]
// CHECK: @train({{.*}}) -> (tensor<f32>, tensor<5xf32>, tensor<1xi64>)
// CHECK-SAME: sexp.results = ["loss", "metrics", "counters"]
func.func private @train(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> attributes {sexp.role = "train"} {
  // CHECK: %[[N:.*]] = stablehlo.convert %{{.*}} : (tensor<i32>) -> tensor<i64>
  stablehlo.custom_call @sexp.counter(%n) {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "tokens"}} : (tensor<i32>) -> ()
  stablehlo.custom_call @sexp.counter(%x) {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "share"}} : (tensor<f32>) -> ()
  // CHECK: stablehlo.multiply
  stablehlo.custom_call @sexp.metric(%x, %x) {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "accuracy", reduce = "mean", weighted = true}} : (tensor<f32>, tensor<f32>) -> ()
  // CHECK: stablehlo.concatenate
  // CHECK: stablehlo.reshape %[[N]]
  // CHECK-NOT: custom_call
  return %x : tensor<f32>
}
