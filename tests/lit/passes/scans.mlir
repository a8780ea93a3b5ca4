// What runs along an axis is a kernel of its own where there are eight lines of f32 or more; the rest is expanded.
// RUN: %sexpc opt --pass scans %s | %filecheck %s
// RUN: %sexpc opt --pass running %s | %filecheck %s --check-prefix=EXPANDED

// CHECK-LABEL: func.func @rows
// CHECK: flow.dispatch.workgroups
// CHECK: vector.shuffle
// CHECK: arith.addf {{.*}} : vector<8xf64>
// CHECK-NOT: stablehlo.reduce_window
// EXPANDED-LABEL: func.func @rows
// EXPANDED: stablehlo.reduce(
// EXPANDED-NOT: stablehlo.reduce_window
func.func @rows(%x: tensor<9x20xf32>) -> tensor<9x20xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [19, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 20>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<9x20xf32>, tensor<f32>) -> tensor<9x20xf32>
  return %0 : tensor<9x20xf32>
}

// From the other end, and lines that lie side by side.
// CHECK-LABEL: func.func @beside
// CHECK: arith.mulf {{.*}} : vector<16xf32>
func.func @beside(%x: tensor<20x17xf32>) -> tensor<20x17xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %one) <{padding = dense<[[0, 19], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 20, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<20x17xf32>, tensor<f32>) -> tensor<20x17xf32>
  return %0 : tensor<20x17xf32>
}

// Few lines, another dtype: no kernel.
// CHECK-LABEL: func.func @few
// CHECK-COUNT-2: stablehlo.reduce_window
// EXPANDED-LABEL: func.func @few
// EXPANDED-NOT: stablehlo.reduce_window
func.func @few(%x: tensor<3x20xf32>, %y: tensor<9x20xi32>) -> (tensor<3x20xf32>, tensor<9x20xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [19, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 20>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3x20xf32>, tensor<f32>) -> tensor<3x20xf32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %2 = "stablehlo.reduce_window"(%y, %none) <{padding = dense<[[0, 0], [19, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 20>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %3 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %3 : tensor<i32>
  }) : (tensor<9x20xi32>, tensor<i32>) -> tensor<9x20xi32>
  return %0, %2 : tensor<3x20xf32>, tensor<9x20xi32>
}

// A window that does not start at the end of the axis is no running sum.
// CHECK-LABEL: func.func @short
// CHECK: stablehlo.reduce_window
// EXPANDED-LABEL: func.func @short
// EXPANDED: stablehlo.reduce_window
func.func @short(%x: tensor<9x20xf32>) -> tensor<9x20xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<9x20xf32>, tensor<f32>) -> tensor<9x20xf32>
  return %0 : tensor<9x20xf32>
}
