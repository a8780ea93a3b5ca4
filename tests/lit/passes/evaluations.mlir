// An evaluation becomes an export that reads the state, a function of the experiment's one of its inputs.
// RUN: %sexpc opt --pass state --pass evaluations %s | %filecheck %s

module attributes {
  sexp.initialisers = {w = @init.w},
  sexp.manifest = "{\"schedules\": [{\"name\": \"lr\"}], \"evaluations\": [{\"name\": \"held\"}], \"exports\": [{\"name\": \"score\"}], \"parameters\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f32\", \"trainable\": true, \"decay\": true}], \"state\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f32\", \"role\": \"parameter\"}]}"
} {
  func.func private @init.w() -> tensor<3xf32> attributes {sexp.role = "init"} {
    %0 = stablehlo.constant dense<0.5> : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @evaluate.held(%x: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<2xf32>)
      attributes {sexp.role = "evaluate", sexp.arguments = ["field:0", "param:w"], sexp.results = ["loss", "metrics"]} {
    %loss = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    %metrics = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<2xf32>
    return %loss, %metrics : tensor<f32>, tensor<2xf32>
  }
  func.func private @export.score(%x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32>
      attributes {sexp.role = "export", sexp.arguments = ["field:0", "param:w"], sexp.results = ["output:0"]} {
    %0 = stablehlo.multiply %x, %w : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
// CHECK-NOT: @evaluate.held
// CHECK-NOT: @export.score
// CHECK: func.func public @evaluate_0(%[[X:.*]]: tensor<3xf32>, %{{.*}}: tensor<4xi64>, %{{.*}}: tensor<1xf32>) -> tensor<2xf32>
// CHECK: %[[W:.*]] = util.global.load @state.w
// CHECK: stablehlo.dot_general %[[X]], %[[W]]
// CHECK: func.func public @export_0(%{{.*}}: tensor<3xf32>, %{{.*}}: tensor<4xi64>) -> tensor<3xf32>
// CHECK: util.global.load @state.w
// CHECK: stablehlo.multiply
