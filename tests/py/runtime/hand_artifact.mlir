// Pieces of the hand-written artifact; hand_artifact.py puts them together. #B# is a number of rows.
//// stirred
    %k64 = stablehlo.slice %key [1:2] : (tensor<4xi64>) -> tensor<1xi64>
    %kstep = stablehlo.reshape %k64 : (tensor<1xi64>) -> tensor<i64>
    %weights = stablehlo.constant dense<[7, 131, 17, 3]> : tensor<4xi64>
    %mixed = stablehlo.multiply %key, %weights : tensor<4xi64>
    %zero64 = stablehlo.constant dense<0> : tensor<i64>
    %mix = stablehlo.reduce(%mixed init: %zero64) applies stablehlo.add across dimensions = [0] : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
    %mod = stablehlo.constant dense<101> : tensor<i64>
    %rem = stablehlo.remainder %mix, %mod : tensor<i64>
    %remf = stablehlo.convert %rem : (tensor<i64>) -> tensor<f32>
    %tiny = stablehlo.constant dense<0.001> : tensor<f32>
    %small = stablehlo.multiply %remf, %tiny : tensor<f32>
    %nanstep = stablehlo.constant dense<NAN_AT> : tensor<i64>
    %isnan = stablehlo.compare EQ, %kstep, %nanstep : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %noise = stablehlo.select %isnan, %nan, %small : tensor<i1>, tensor<f32>
//// still
    %noise = stablehlo.constant dense<0.0> : tensor<f32>
//// forward
    %w = util.global.load @w : tensor<@W@xf32>
    %b = util.global.load @b : tensor<f32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %n = stablehlo.constant dense<#B#.0> : tensor<f32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %pinf = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %xw = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<#B#x@W@xf32>, tensor<@W@xf32>) -> tensor<#B#xf32>
    %shift = stablehlo.add %b, %noise : tensor<f32>
    %bb = stablehlo.broadcast_in_dim %shift, dims = [] : (tensor<f32>) -> tensor<#B#xf32>
    %pred = stablehlo.add %xw, %bb : tensor<#B#xf32>
    %err = stablehlo.subtract %pred, %y : tensor<#B#xf32>
    %sq = stablehlo.multiply %err, %err : tensor<#B#xf32>
    %sse = stablehlo.reduce(%sq init: %z) applies stablehlo.add across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.divide %sse, %n : tensor<f32>
    %gx = stablehlo.dot_general %err, %x, contracting_dims = [0] x [0] : (tensor<#B#xf32>, tensor<#B#x@W@xf32>) -> tensor<@W@xf32>
    %scale = stablehlo.divide %two, %n : tensor<f32>
    %scalew = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<@W@xf32>
    %gw = stablehlo.multiply %gx, %scalew : tensor<@W@xf32>
    %se = stablehlo.reduce(%err init: %z) applies stablehlo.add across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %gb = stablehlo.multiply %se, %scale : tensor<f32>
    %abs = stablehlo.abs %err : tensor<#B#xf32>
    %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<#B#xf32>
    %zeros = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<#B#xf32>
    %maskf = stablehlo.select %mask, %ones, %zeros : tensor<#B#xi1>, tensor<#B#xf32>
    %masked = stablehlo.multiply %abs, %maskf : tensor<#B#xf32>
    %mae = stablehlo.reduce(%masked init: %z) applies stablehlo.add across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %maew = stablehlo.reduce(%maskf init: %z) applies stablehlo.add across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %peak = stablehlo.reduce(%abs init: %ninf) applies stablehlo.maximum across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %low = stablehlo.reduce(%abs init: %pinf) applies stablehlo.minimum across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %tag32 = stablehlo.convert %tag : (tensor<#B#xui8>) -> tensor<#B#xi32>
    %tagf = stablehlo.convert %tag32 : (tensor<#B#xi32>) -> tensor<#B#xf32>
    %tags = stablehlo.reduce(%tagf init: %z) applies stablehlo.add across dimensions = [0] : (tensor<#B#xf32>, tensor<f32>) -> tensor<f32>
    %tag64 = stablehlo.convert %tag : (tensor<#B#xui8>) -> tensor<#B#xi64>
    %z64 = stablehlo.constant dense<0> : tensor<i64>
    %tokens = stablehlo.reduce(%tag64 init: %z64) applies stablehlo.add across dimensions = [0] : (tensor<#B#xi64>, tensor<i64>) -> tensor<i64>
    %counters = stablehlo.reshape %tokens : (tensor<i64>) -> tensor<1xi64>
    %r0 = stablehlo.reshape %loss : (tensor<f32>) -> tensor<1xf32>
    %r1 = stablehlo.reshape %one : (tensor<f32>) -> tensor<1xf32>
    %r2 = stablehlo.reshape %mae : (tensor<f32>) -> tensor<1xf32>
    %r3 = stablehlo.reshape %maew : (tensor<f32>) -> tensor<1xf32>
    %r4 = stablehlo.reshape %peak : (tensor<f32>) -> tensor<1xf32>
    %r5 = stablehlo.reshape %low : (tensor<f32>) -> tensor<1xf32>
    %r6 = stablehlo.reshape %sse : (tensor<f32>) -> tensor<1xf32>
    %r7 = stablehlo.reshape %tags : (tensor<f32>) -> tensor<1xf32>
//// update
    %hlr = stablehlo.slice %hyper [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %lr = stablehlo.reshape %hlr : (tensor<1xf32>) -> tensor<f32>
    %hbeta = stablehlo.slice %hyper [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %beta = stablehlo.reshape %hbeta : (tensor<1xf32>) -> tensor<f32>
    %wv = util.global.load @w.v : tensor<@W@xf32>
    %bv = util.global.load @b.v : tensor<f32>
    %gg = stablehlo.multiply %gw, %gw : tensor<@W@xf32>
    %ggs = stablehlo.reduce(%gg init: %z) applies stablehlo.add across dimensions = [0] : (tensor<@W@xf32>, tensor<f32>) -> tensor<f32>
    %gbb = stablehlo.multiply %gb, %gb : tensor<f32>
    %norm2 = stablehlo.add %ggs, %gbb : tensor<f32>
    %norm = stablehlo.sqrt %norm2 : tensor<f32>
    %finite = stablehlo.is_finite %norm : (tensor<f32>) -> tensor<i1>
    %always = stablehlo.constant dense<true> : tensor<i1>
    %bew = stablehlo.broadcast_in_dim %beta, dims = [] : (tensor<f32>) -> tensor<@W@xf32>
    %lrw = stablehlo.broadcast_in_dim %lr, dims = [] : (tensor<f32>) -> tensor<@W@xf32>
    %wv1 = stablehlo.multiply %wv, %bew : tensor<@W@xf32>
    %wv2 = stablehlo.add %wv1, %gw : tensor<@W@xf32>
    %wd = stablehlo.multiply %wv2, %lrw : tensor<@W@xf32>
    %w2 = stablehlo.subtract %w, %wd : tensor<@W@xf32>
    %bv1 = stablehlo.multiply %bv, %beta : tensor<f32>
    %bv2 = stablehlo.add %bv1, %gb : tensor<f32>
    %bd = stablehlo.multiply %bv2, %lr : tensor<f32>
    %b2 = stablehlo.subtract %b, %bd : tensor<f32>
    %nw = stablehlo.select @SKIP@, %w2, %w : tensor<i1>, tensor<@W@xf32>
    %nb = stablehlo.select @SKIP@, %b2, %b : tensor<i1>, tensor<f32>
    %nwv = stablehlo.select @SKIP@, %wv2, %wv : tensor<i1>, tensor<@W@xf32>
    %nbv = stablehlo.select @SKIP@, %bv2, %bv : tensor<i1>, tensor<f32>
    util.global.store %nw, @w : tensor<@W@xf32>
    util.global.store %nb, @b : tensor<f32>
    util.global.store %nwv, @w.v : tensor<@W@xf32>
    util.global.store %nbv, @b.v : tensor<f32>
    %seen = util.global.load @seen : tensor<2xbf16>
    %onebf = stablehlo.constant dense<1.0> : tensor<2xbf16>
    %seen2 = stablehlo.add %seen, %onebf : tensor<2xbf16>
    util.global.store %seen2, @seen : tensor<2xbf16>
    %oneu = stablehlo.constant dense<1.0> : tensor<f32>
    %zerou = stablehlo.constant dense<0.0> : tensor<f32>
    %skipped = stablehlo.select @SKIP@, %zerou, %oneu : tensor<i1>, tensor<f32>
    %rn = stablehlo.reshape %norm : (tensor<f32>) -> tensor<1xf32>
    %rs = stablehlo.reshape %skipped : (tensor<f32>) -> tensor<1xf32>
//// arguments
    %x: tensor<#B#x@W@xf32>, %y: tensor<#B#xf32>, %mask: tensor<#B#xi1>, %tag: tensor<#B#xui8>, %key: tensor<4xi64>
//// scalars
    %step: i64, %steps: i64, %progress: f64, %stage: i64, %sstep: i64, %records: i64, %srecords: i64, %lastloss: f64, %tokens: i64, %stokens: i64, %mass: f64, %smass: f64
//// module
module @sample {
  util.global private mutable @w = dense<0.0> : tensor<@W@xf32>
  util.global private mutable @b = dense<0.0> : tensor<f32>
  util.global private mutable @seen = dense<0.0> : tensor<2xbf16>
  util.global private mutable @w.v = dense<0.0> : tensor<@W@xf32>
  util.global private mutable @b.v = dense<0.0> : tensor<f32>
  util.global private mutable @acc.w = dense<0.0> : tensor<@W@xf32>
  util.global private mutable @acc.b = dense<0.0> : tensor<f32>
  func.func @init(%seed: tensor<i64>) attributes {iree.reflection = {"sexpgpu.manifest" = "@MANIFEST@"}} {
    %s = stablehlo.convert %seed : (tensor<i64>) -> tensor<f32>
    %c = stablehlo.constant dense<0.125> : tensor<f32>
    %v = stablehlo.multiply %s, %c : tensor<f32>
    %w = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<@W@xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %zw = stablehlo.constant dense<0.0> : tensor<@W@xf32>
    %zs = stablehlo.constant dense<0.0> : tensor<2xbf16>
    util.global.store %w, @w : tensor<@W@xf32>
    util.global.store %v, @b : tensor<f32>
    util.global.store %zs, @seen : tensor<2xbf16>
    util.global.store %zw, @w.v : tensor<@W@xf32>
    util.global.store %z, @b.v : tensor<f32>
    util.global.store %zw, @acc.w : tensor<@W@xf32>
    util.global.store %z, @acc.b : tensor<f32>
    return
  }
  func.func @microbatch(ARGS4, %hyper: tensor<2xf32>) -> (tensor<9xf32>, tensor<1xi64>) {
    @TRAIN@
    %aw = util.global.load @acc.w : tensor<@W@xf32>
    %ab = util.global.load @acc.b : tensor<f32>
    %aw2 = stablehlo.add %aw, %gw : tensor<@W@xf32>
    %ab2 = stablehlo.add %ab, %gb : tensor<f32>
    util.global.store %aw2, @acc.w : tensor<@W@xf32>
    util.global.store %ab2, @acc.b : tensor<f32>
    %m = stablehlo.concatenate %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r0, %r7, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<9xf32>
    return %m, %counters : tensor<9xf32>, tensor<1xi64>
  }
  func.func @update(%hyper: tensor<2xf32>, %scale: tensor<f32>) -> tensor<2xf32> {
    %w = util.global.load @w : tensor<@W@xf32>
    %b = util.global.load @b : tensor<f32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %zw = stablehlo.constant dense<0.0> : tensor<@W@xf32>
    %aw = util.global.load @acc.w : tensor<@W@xf32>
    %ab = util.global.load @acc.b : tensor<f32>
    %sw = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<@W@xf32>
    %gw = stablehlo.multiply %aw, %sw : tensor<@W@xf32>
    %gb = stablehlo.multiply %ab, %scale : tensor<f32>
    UPDATE
    util.global.store %zw, @acc.w : tensor<@W@xf32>
    util.global.store %z, @acc.b : tensor<f32>
    %u = stablehlo.concatenate %rn, %rs, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    return %u : tensor<2xf32>
  }
  func.func @evaluate_0(ARGS4, %hyper: tensor<2xf32>) -> tensor<4xf32> {
    @EVALUATE@
    %m = stablehlo.concatenate %r0, %r1, %r2, %r3, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
    return %m : tensor<4xf32>
  }
  func.func @evaluate_0_row(ARGS1, %hyper: tensor<2xf32>) -> tensor<4xf32> {
    @ROW@
    %m = stablehlo.concatenate %r0, %r1, %r2, %r3, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
    return %m : tensor<4xf32>
  }
  func.func @ctx_0(SCALARS) -> f64 {
    %a = arith.sitofp %step : i64 to f64
    %one = arith.constant 1.0 : f64
    %tenth = arith.constant 0.1 : f64
    %d = arith.addf %a, %one : f64
    %r = arith.divf %tenth, %d : f64
    %c = arith.constant 0.01 : f64
    %f = arith.addf %r, %c : f64
    return %f : f64
  }
  func.func @ctx_1(SCALARS) -> i64 {
    %limit = arith.constant 24 : i64
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %less = arith.cmpi slt, %records, %limit : i64
    %r = arith.select %less, %zero, %one : i64
    return %r : i64
  }
  func.func @state_get() -> (tensor<@W@xf32>, tensor<f32>, tensor<2xbf16>, tensor<@W@xf32>, tensor<f32>) {
    %w = util.global.load @w : tensor<@W@xf32>
    %b = util.global.load @b : tensor<f32>
    %seen = util.global.load @seen : tensor<2xbf16>
    %wv = util.global.load @w.v : tensor<@W@xf32>
    %bv = util.global.load @b.v : tensor<f32>
    return %w, %b, %seen, %wv, %bv : tensor<@W@xf32>, tensor<f32>, tensor<2xbf16>, tensor<@W@xf32>, tensor<f32>
  }
  func.func @state_set(%w: tensor<@W@xf32>, %b: tensor<f32>, %seen: tensor<2xbf16>, %wv: tensor<@W@xf32>, %bv: tensor<f32>) {
    util.global.store %w, @w : tensor<@W@xf32>
    util.global.store %b, @b : tensor<f32>
    util.global.store %seen, @seen : tensor<2xbf16>
    util.global.store %wv, @w.v : tensor<@W@xf32>
    util.global.store %bv, @b.v : tensor<f32>
    return
  }
}
