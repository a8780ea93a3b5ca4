// The cotangent of an activation is multiplied by one tensor, which is computed where the activation is.
// RUN: %sexpc opt --pass slopes %s | %filecheck %s

// x tanh(x): c tanh(x) + c x (1 - tanh(x)^2)
// CHECK-LABEL: func.func @train
// CHECK: %[[T:.*]] = stablehlo.tanh %arg0
// CHECK: %[[Q:.*]] = stablehlo.multiply %[[T]], %[[T]]
// CHECK: %[[F:.*]] = stablehlo.add %[[T]], %{{.*}}
// CHECK: %[[C:.*]] = stablehlo.cosine
// CHECK-NEXT: %[[G:.*]] = stablehlo.multiply %[[C]], %[[F]]
// CHECK-NEXT: return %{{.*}}, %[[G]]
func.func @train(%x: tensor<64xf32>, %d: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {sexp.role = "train", sexp.arguments = ["field:0", "field:1"], sexp.results = ["loss", "grad:x"]} {
  %t = stablehlo.tanh %x : tensor<64xf32>
  %y = stablehlo.multiply %x, %t : tensor<64xf32>
  %z = stablehlo.add %y, %y : tensor<64xf32>
  %c = stablehlo.cosine %d : tensor<64xf32>
  %one = stablehlo.constant dense<1.0> : tensor<64xf32>
  %a = stablehlo.multiply %c, %t : tensor<64xf32>
  %b = stablehlo.multiply %c, %x : tensor<64xf32>
  %tt = stablehlo.multiply %t, %t : tensor<64xf32>
  %s = stablehlo.subtract %one, %tt : tensor<64xf32>
  %e = stablehlo.multiply %b, %s : tensor<64xf32>
  %g = stablehlo.add %a, %e : tensor<64xf32>
  return %z, %g : tensor<64xf32>, tensor<64xf32>
}
