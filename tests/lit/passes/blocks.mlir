// A loop of 16 rounds that fills a stack becomes four loops of four, each of which fills a stack of four rows.
// RUN: %sexpc opt --pass blocks %s | %filecheck %s

// CHECK: func.func @f
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<512xf32>, tensor<16x512xf32>
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<512xf32>, tensor<4x512xf32>
// CHECK: %[[H:.*]] = stablehlo.tanh
// CHECK: %[[ROW:.*]] = stablehlo.reshape %[[H]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[ROW]], {{.*}} : (tensor<4x512xf32>, tensor<1x512xf32>, tensor<i32>, tensor<i32>) -> tensor<4x512xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<16x512xf32>, tensor<4x512xf32>, tensor<i32>, tensor<i32>) -> tensor<16x512xf32>
func.func @f(%x: tensor<512xf32>) -> tensor<16x512xf32> {
  %empty = stablehlo.constant dense<0.0> : tensor<16x512xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %bound = stablehlo.constant dense<16> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %h = %x, %s = %empty) : tensor<i32>, tensor<512xf32>, tensor<16x512xf32>
  cond {
    %c = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.tanh %h : tensor<512xf32>
    %row = stablehlo.reshape %y : (tensor<512xf32>) -> tensor<1x512xf32>
    %t = stablehlo.dynamic_update_slice %s, %row, %i, %zero : (tensor<16x512xf32>, tensor<1x512xf32>, tensor<i32>, tensor<i32>) -> tensor<16x512xf32>
    stablehlo.return %next, %y, %t : tensor<i32>, tensor<512xf32>, tensor<16x512xf32>
  }
  return %r#2 : tensor<16x512xf32>
}

// Of a loop through time eight light rounds stand in one: two times around, and the seventeenth round by itself.
// CHECK: func.func @cell
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<2xf32>, tensor<16x2xf32>
// CHECK-COUNT-8: stablehlo.tanh
// CHECK: stablehlo.concatenate {{.*}} -> tensor<8x2xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<16x2xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<16x2xf32>
// CHECK: stablehlo.tanh
// CHECK: stablehlo.concatenate {{.*}} : (tensor<16x2xf32>, tensor<1x2xf32>) -> tensor<17x2xf32>
func.func @cell(%x: tensor<2xf32>) -> tensor<17x2xf32> {
  %empty = stablehlo.constant dense<0.0> : tensor<17x2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %bound = stablehlo.constant dense<17> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %h = %x, %s = %empty) : tensor<i32>, tensor<2xf32>, tensor<17x2xf32> attributes {sexp.cell}
  cond {
    %c = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.tanh %h : tensor<2xf32>
    %row = stablehlo.reshape %y : (tensor<2xf32>) -> tensor<1x2xf32>
    %t = stablehlo.dynamic_update_slice %s, %row, %i, %zero : (tensor<17x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<17x2xf32>
    stablehlo.return %next, %y, %t : tensor<i32>, tensor<2xf32>, tensor<17x2xf32>
  }
  return %r#2 : tensor<17x2xf32>
}

// A small stack is carried as it is, beside a large one as well.
// CHECK: func.func @small
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<16xf32>
// CHECK-NOT: stablehlo.while
// CHECK: func.func @both
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<16xf32>, tensor<16x512xf32>
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<16xf32>, tensor<4x512xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<16xf32>, tensor<1xf32>, tensor<i32>) -> tensor<16xf32>
func.func @small(%x: tensor<1xf32>) -> tensor<16xf32> {
  %empty = stablehlo.constant dense<0.0> : tensor<16xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %bound = stablehlo.constant dense<16> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %empty) : tensor<i32>, tensor<16xf32>
  cond {
    %c = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.dynamic_update_slice %s, %x, %i : (tensor<16xf32>, tensor<1xf32>, tensor<i32>) -> tensor<16xf32>
    stablehlo.return %next, %t : tensor<i32>, tensor<16xf32>
  }
  return %r#1 : tensor<16xf32>
}
func.func @both(%x: tensor<1xf32>, %y: tensor<1x512xf32>) -> (tensor<16xf32>, tensor<16x512xf32>) {
  %empty = stablehlo.constant dense<0.0> : tensor<16xf32>
  %large = stablehlo.constant dense<0.0> : tensor<16x512xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %bound = stablehlo.constant dense<16> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %s = %empty, %l = %large) : tensor<i32>, tensor<16xf32>, tensor<16x512xf32>
  cond {
    %c = stablehlo.compare LT, %i, %bound : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.dynamic_update_slice %s, %x, %i : (tensor<16xf32>, tensor<1xf32>, tensor<i32>) -> tensor<16xf32>
    %u = stablehlo.dynamic_update_slice %l, %y, %i, %zero : (tensor<16x512xf32>, tensor<1x512xf32>, tensor<i32>, tensor<i32>) -> tensor<16x512xf32>
    stablehlo.return %next, %t, %u : tensor<i32>, tensor<16xf32>, tensor<16x512xf32>
  }
  return %r#1, %r#2 : tensor<16xf32>, tensor<16x512xf32>
}
