// State markers become arguments; one name is one argument; a buffer read after its update reads the new value.
// RUN: %sexpc opt --pass parameters %s | %filecheck %s

// CHECK: sexp.initialisers = {mean = @init.mean, w = @init.w}
// CHECK-SAME: {\22name\22: \22w\22, \22shape\22: [3], \22dtype\22: \22f32\22, \22trainable\22: true, \22decay\22: true}
// CHECK-SAME: {\22name\22: \22mean\22, \22shape\22: [3], \22dtype\22: \22f32\22, \22role\22: \22buffer\22}
module attributes {sexp.manifest = "{\"schedules\": [{\"name\": \"lr\"}, {\"name\": \"beta\"}]}"} {
  // CHECK: func.func private @train(%[[X:.*]]: tensor<3xf32>, %[[HYPER:.*]]: tensor<2xf32>, %[[W:.*]]: tensor<3xf32>, %[[MEAN:.*]]: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>)
  // CHECK-SAME: sexp.arguments = ["field:0", "hyper", "param:w", "buffer:mean"]
  // CHECK-SAME: sexp.results = ["loss", "buffer:mean"]
  func.func private @train(%x: tensor<3xf32>) -> tensor<f32> attributes {sexp.role = "train"} {
    // CHECK-NEXT: %[[ONE:.*]] = stablehlo.slice %[[HYPER]] [1:2]
    // CHECK-NEXT: %[[BETA:.*]] = stablehlo.reshape %[[ONE]]
    %beta = stablehlo.custom_call @sexp.schedule() {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "beta"}} : () -> tensor<f32>
    %w = stablehlo.custom_call @sexp.param() {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "w", trainable = true, decay = true}, called_computations = [@init.w]} : () -> tensor<3xf32>
    %again = stablehlo.custom_call @sexp.param() {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "w", trainable = true, decay = true}, called_computations = [@init.w]} : () -> tensor<3xf32>
    %mean = stablehlo.custom_call @sexp.buffer() {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "mean"}, called_computations = [@init.mean]} : () -> tensor<3xf32>
    // CHECK-NEXT: %[[NEW:.*]] = stablehlo.add %[[MEAN]], %[[X]]
    %new = stablehlo.add %mean, %x : tensor<3xf32>
    stablehlo.custom_call @sexp.update_buffer(%new) {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "mean"}} : (tensor<3xf32>) -> ()
    %after = stablehlo.custom_call @sexp.buffer() {api_version = 4 : i32, has_side_effect = true, backend_config = {name = "mean"}, called_computations = [@init.mean]} : () -> tensor<3xf32>
    // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[W]], %[[W]]
    %sum = stablehlo.add %w, %again : tensor<3xf32>
    // CHECK-NEXT: stablehlo.dot_general %[[SUM]], %[[NEW]]
    %dot = stablehlo.dot_general %sum, %after, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    // CHECK-NEXT: %[[LOSS:.*]] = stablehlo.multiply {{.*}}, %[[BETA]]
    %loss = stablehlo.multiply %dot, %beta : tensor<f32>
    // CHECK-NEXT: return %[[LOSS]], %[[NEW]]
    return %loss : tensor<f32>
  }
  func.func private @init.w() -> tensor<3xf32> attributes {sexp.role = "init"} {
    %0 = stablehlo.constant dense<0.0> : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @init.mean() -> tensor<3xf32> attributes {sexp.role = "init"} {
    %0 = stablehlo.constant dense<0.0> : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
