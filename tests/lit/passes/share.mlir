// Two counts that begin and go on alike are one; a third begins elsewhere and a fourth follows its gradient.
// RUN: %sexpc opt --pass share %s | %filecheck %s

// CHECK: \22optimizer.n\22
// CHECK-NOT: \22b.n\22
// CHECK: \22c.n\22
// CHECK: \22d.n\22
module attributes {
  sexp.manifest = "{\"parameters\": [{\"name\": \"a\", \"trainable\": true}, {\"name\": \"b\", \"trainable\": true}, {\"name\": \"c\", \"trainable\": true}, {\"name\": \"d\", \"trainable\": true}], \"state\": [{\"name\": \"a.n\", \"shape\": [], \"dtype\": \"f32\", \"role\": \"optimizer\"}, {\"name\": \"b.n\", \"shape\": [], \"dtype\": \"f32\", \"role\": \"optimizer\"}, {\"name\": \"c.n\", \"shape\": [], \"dtype\": \"f32\", \"role\": \"optimizer\"}, {\"name\": \"d.n\", \"shape\": [], \"dtype\": \"f32\", \"role\": \"optimizer\"}]}"
} {
  // CHECK: func.func private @optimizer_init(
  // CHECK-SAME: -> (tensor<f32>, tensor<f32>, tensor<f32>)
  func.func private @optimizer_init(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) attributes {sexp.role = "optimizer_init"} {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.constant dense<1.0> : tensor<f32>
    return %0, %1, %2, %1 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  // CHECK: func.func private @optimizer({{.*}}, %[[N:.*]]: tensor<f32>, %[[C:.*]]: tensor<f32>, %[[D:.*]]: tensor<f32>) ->
  // CHECK: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-NEXT: %[[COUNT:.*]] = stablehlo.add %[[N]], %[[ONE]]
  // CHECK-NEXT: %[[OTHER:.*]] = stablehlo.add %[[C]], %[[ONE]]
  // CHECK-NEXT: %[[OWN:.*]] = stablehlo.add %[[D]], %{{.*}}
  // CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[COUNT]], %[[OTHER]], %[[OWN]]
  func.func private @optimizer(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<f32>,
                               %ga: tensor<2xf32>, %gb: tensor<2xf32>, %gc: tensor<2xf32>, %gd: tensor<f32>,
                               %na: tensor<f32>, %nb: tensor<f32>, %nc: tensor<f32>, %nd: tensor<f32>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) attributes {sexp.role = "optimizer"} {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.add %na, %one : tensor<f32>
    %again = stablehlo.constant dense<1.0> : tensor<f32>
    %1 = stablehlo.add %nb, %again : tensor<f32>
    %2 = stablehlo.add %nc, %again : tensor<f32>
    %3 = stablehlo.add %nd, %gd : tensor<f32>
    %skipped = stablehlo.constant dense<0> : tensor<i32>
    return %a, %b, %c, %d, %0, %1, %2, %3, %one, %skipped : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>
  }
}
