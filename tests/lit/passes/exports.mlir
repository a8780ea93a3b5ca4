// From a differentiated @train and @optimizer to microbatch and update.
// RUN: %sexpc opt --pass state --pass accumulate --pass optimizer --pass artifact %s | %filecheck %s

// CHECK-NOT: sexp.role
// CHECK-DAG: util.global private mutable @accumulator.w : tensor<3xf32>
// CHECK-DAG: util.global private mutable @accumulator.filled : i1
module attributes {
  sexp.initialisers = {w = @init.w},
  sexp.manifest = "{\"schedules\": [{\"name\": \"lr\"}], \"parameters\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f32\", \"trainable\": true, \"decay\": true}], \"state\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f32\", \"role\": \"parameter\"}]}"
} {
  func.func private @init.w() -> tensor<3xf32> attributes {sexp.role = "init"} {
    %0 = stablehlo.constant dense<0.5> : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @train(%x: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<2xf32>, tensor<3xf32>)
      attributes {sexp.role = "train", sexp.arguments = ["field:0", "param:w"], sexp.results = ["loss", "metrics", "grad:w"]} {
    %loss = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    %metrics = stablehlo.constant dense<1.0> : tensor<2xf32>
    return %loss, %metrics, %x : tensor<f32>, tensor<2xf32>, tensor<3xf32>
  }
  func.func private @optimizer(%w: tensor<3xf32>, %g: tensor<3xf32>, %lr: tensor<f32>) -> (tensor<3xf32>, tensor<f32>, tensor<i32>) attributes {sexp.role = "optimizer"} {
    %0 = stablehlo.subtract %w, %g : tensor<3xf32>
    %skipped = stablehlo.constant dense<0> : tensor<i32>
    return %0, %lr, %skipped : tensor<3xf32>, tensor<f32>, tensor<i32>
  }
}
// CHECK: func.func public @init({{.*}}iree.reflection = {sexpgpu.manifest =
// CHECK: func.func public @microbatch(%[[X:.*]]: tensor<3xf32>, %{{.*}}: tensor<4xi64>, %{{.*}}: tensor<1xf32>) -> tensor<2xf32>
// CHECK: util.global.load @accumulator.filled
// CHECK-NOT: scf.if
// CHECK: stablehlo.add
// CHECK: stablehlo.select
// CHECK: util.global.store %{{.*}}, @accumulator.w
// CHECK: func.func public @update(%{{.*}}: tensor<1xf32>, %{{.*}}: tensor<f32>) -> tensor<2xf32>
// CHECK: util.global.load @accumulator.w
// CHECK: util.global.store %{{.*}}, @state.w
// CHECK: util.global.store %false{{.*}}, @accumulator.filled
