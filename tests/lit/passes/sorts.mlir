// Sorts that give indices: networks of keys on processors, rounds of elementwise operations on GPUs. Other sorts stay.
// RUN: %sexpc opt --pass sort-kernels %s | %filecheck %s --check-prefixes=BOTH,CPU
// RUN: %sexpc opt --pass sort-rounds %s | %filecheck %s --check-prefixes=BOTH,GPU

// BOTH-LABEL: func.func @all
// CPU: stablehlo.constant dense<{{.*}}> : tensor<15x3xi32>
// CPU: flow.dispatch.workgroups{{.*}} tensor<2x24x8xi64>
// CPU: arith.minsi {{.*}} vector<8xi64>
// GPU-NOT: i64
// GPU: stablehlo.reduce{{.*}} applies stablehlo.add across dimensions = [2]
// BOTH-NOT: stablehlo.sort
func.func @all(%x: tensor<9x24xi32>) -> tensor<9x24xi32> {
  %i = stablehlo.iota dim = 1 : tensor<9x24xi32>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %j: tensor<i32>, %k: tensor<i32>):
    %1 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare LT, %j, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.and %1, %2 : tensor<i1>
    %4 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.or %4, %3 : tensor<i1>
    stablehlo.return %5 : tensor<i1>
  }) {sexp.keys} : (tensor<9x24xi32>, tensor<9x24xi32>) -> (tensor<9x24xi32>, tensor<9x24xi32>)
  return %0#1 : tensor<9x24xi32>
}

// Of which two are read: no network.
// BOTH-LABEL: func.func @two
// CPU: flow.dispatch.workgroups{{.*}} -> tensor<2x2x8xi64>
// GPU-COUNT-4: applies stablehlo.minimum across dimensions = [1]
// BOTH-NOT: stablehlo.sort
func.func @two(%x: tensor<9x24xi32>) -> tensor<9x2xi32> {
  %i = stablehlo.iota dim = 1 : tensor<9x24xi32>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %j: tensor<i32>, %k: tensor<i32>):
    %1 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.compare LT, %j, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.and %1, %2 : tensor<i1>
    %4 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.or %4, %3 : tensor<i1>
    stablehlo.return %5 : tensor<i1>
  }) {sexp.keys} : (tensor<9x24xi32>, tensor<9x24xi32>) -> (tensor<9x24xi32>, tensor<9x24xi32>)
  %6 = stablehlo.slice %0#1 [0:9, 0:2] : (tensor<9x24xi32>) -> tensor<9x2xi32>
  return %6 : tensor<9x2xi32>
}

// BOTH-LABEL: func.func @others
// BOTH: stablehlo.sort
func.func @others(%x: tensor<9xf32>) -> tensor<9xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<9xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
