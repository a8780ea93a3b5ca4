// State becomes globals with init, get and set.
// RUN: %sexpc opt --pass state %s | %filecheck %s

// CHECK: util.global private mutable @state.w : tensor<3xf32>
// CHECK-NEXT: util.global private mutable @state.w.m : tensor<3xf32>
// CHECK-NOT: @init.w
module attributes {
  sexp.initialisers = {w = @init.w},
  sexp.manifest = "{\"parameters\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f32\", \"trainable\": true, \"decay\": true}], \"state\": [{\"name\": \"w\", \"shape\": [3], \"dtype\": \"f32\", \"role\": \"parameter\"}, {\"name\": \"w.m\", \"shape\": [3], \"dtype\": \"f32\", \"role\": \"optimizer\"}]}"
} {
  func.func private @init.w() -> tensor<3xf32> attributes {sexp.role = "init"} {
    %0 = stablehlo.constant dense<0.5> : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @optimizer_init(%w: tensor<3xf32>) -> tensor<3xf32> attributes {sexp.role = "optimizer_init"} {
    %0 = stablehlo.negate %w : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
// CHECK: func.func public @init(%{{.*}}: tensor<i64>)
// CHECK-NEXT: %[[W:.*]] = stablehlo.constant
// CHECK-NEXT: %[[M:.*]] = stablehlo.negate %[[W]]
// CHECK-NEXT: util.global.store %[[W]], @state.w
// CHECK-NEXT: util.global.store %[[M]], @state.w.m
// CHECK: func.func public @state_get() -> (tensor<3xf32>, tensor<3xf32>)
// CHECK: func.func public @state_set(%{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>)
