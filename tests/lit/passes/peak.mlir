// A product in the dtype that the model computes in, summed in f32; none for Vulkan, larger for CUDA.
// RUN: %sexpc opt --pass peak %s | %filecheck %s
// RUN: sed 's/local-task/cuda/' %s | %sexpc opt --pass peak - | %filecheck %s --check-prefix=CUDA
// RUN: sed 's/local-task/vulkan/' %s | %sexpc opt --pass peak - | %filecheck %s --check-prefix=VULKAN

module attributes {sexp.compute = "bf16", sexp.manifest = "{\22target\22: {\22driver\22: \22local-task\22}}"} {
  func.func private @train(%x: tensor<f32>) -> tensor<f32> attributes {sexp.role = "train"} {
    return %x : tensor<f32>
  }
}

// CHECK: \22peak\22: {\22export\22: \22matmul_peak\22, \22size\22: 1024, \22dtype\22: \22bf16\22}
// CHECK: func.func public @matmul_peak(%arg0: tensor<1024x1024xbf16>, %arg1: tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
// CUDA: func.func public @matmul_peak(%arg0: tensor<4096x4096xbf16>
// VULKAN-NOT: matmul_peak
// VULKAN: @train
// VULKAN-NOT: matmul_peak
