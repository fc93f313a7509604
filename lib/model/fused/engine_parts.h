// What engine.cc and engine_setup.cc share, and nobody else includes.
#pragma once

#include <ATen/cuda/CUDAContext.h>

#include <memory>

#include "lib/model/fused/engine.h"
#include "lib/model/fused/fp8.h"

namespace feedrate {

using fused::Bf16;
using fused::Product;

constexpr int64_t kHeadWidth = 64;
constexpr size_t kWorkspaceBytes = 64 << 20;

inline cudaStream_t Stream() { return at::cuda::getCurrentCUDAStream(); }

inline Bf16* Half(const at::Tensor& t) {
  return static_cast<Bf16*>(t.data_ptr());
}
// Units lie behind the values of all rows.
inline fused::Residual ResidualOf(const at::Tensor& t) {
  auto* const values = static_cast<uint16_t*>(t.data_ptr());
  const int64_t count = t.size(0) * (t.size(1) / 2 - 2);
  return {values, reinterpret_cast<float*>(values + count)};
}
inline float* Floats(const at::Tensor& t) {
  return static_cast<float*>(t.data_ptr());
}

// Which products of a layer cuBLASLt computes in FP8.
struct Fp8Products {
  bool forward = false;
  bool input_gradient = false;
  bool weight_gradient = false;
};

// The three products of one matrix of weights.
struct FusedEngine::Layer {
  Layer(cublasLtHandle_t handle, const at::Tensor& workspace, Product forward,
        Product backward, int64_t rows, int64_t inputs, int64_t outputs,
        bool float_out = false, Fp8Products fp8 = {})
      : fp8(fp8),
        forward(handle,
                {forward, rows, inputs, outputs, float_out, fp8.forward},
                workspace.data_ptr(), kWorkspaceBytes),
        input_gradient(
            handle,
            {backward, rows, inputs, outputs, false, fp8.input_gradient},
            workspace.data_ptr(), kWorkspaceBytes),
        weight_gradient(
            handle,
            {Product::kWeightGradient,
             fp8.weight_gradient ? fused::Fp8PaddedRows(rows) : rows, inputs,
             outputs, true, fp8.weight_gradient},
            workspace.data_ptr(), kWorkspaceBytes) {}

  const Fp8Products fp8;

  fused::TunedProduct forward, input_gradient, weight_gradient;
  // A kernel of ours computes these instead.
  bool own_forward = false;
  bool own_input_gradient = false;
};

// The products of a block after attention, for a number of rows.
struct FusedEngine::BlockLayers {
  std::unique_ptr<Layer> projection, up, down;
};

// What the forward pass of one block leaves for the backward pass.
struct FusedEngine::Block {
  // Tokens per sample, and over the batch, that go on after attention. In the
  // last block of a ViT that is the class token: nobody looks at the others.
  int64_t queries = 0;
  int64_t rows = 0;
  BlockLayers* layers = nullptr;
  // Where its first parameter lies in the arena; the others follow.
  int64_t offset = 0;
  // The stream before the block; without checkpointing, all blocks share it.
  at::Tensor x;
  at::Tensor normed, middle_normed;
  at::Tensor rstd, middle_rstd;
  at::Tensor qkv;
  // What rows of Q and K were multiplied by: of texts, and of images on a
  // Hopper, whose qkv then has them normed and rotated.
  at::Tensor head_rstd;
  at::Tensor mixed, log_sum;
  // Only the attention of text uses these.
  at::Tensor random_seed, random_offset;
  // The branches, until the next block has added them.
  at::Tensor attention_out, mlp_out;
  // `hidden` is what GELU got or, with own_products_, its slopes.
  at::Tensor hidden, activated;
  Weight attention_norm, qkv_w, q_norm, k_norm, projection, attention_scale;
  Weight mlp_norm, up, up_bias, down, down_bias, mlp_scale;
};

// What training in FP8 keeps besides.
struct FusedEngine::Fp8 {
  // The scales of a block, and, of the last block, those it uses: of QKV.
  enum Scale {
    kNormed,
    kQkvWeight,
    kMiddleNormed,
    kActivated,
    kUpWeight,
    kDownWeight,
    kBranchGradient,
    kWideGradient,
    kScales
  };
  // As Fp8Out: `columns` is transposed.
  struct Tensor {
    at::Tensor rows, columns;
  };
  struct Block {
    Tensor normed, middle_normed, activated;
    Tensor qkv, up, down;
  };

  fused::Fp8Scale* ScaleAt(int64_t index) const {
    return reinterpret_cast<fused::Fp8Scale*>(scales.data_ptr()) + index;
  }
  fused::Fp8Out Out(const Tensor& tensor, int64_t scale) const {
    return {Bytes(tensor.rows), Bytes(tensor.columns), ScaleAt(scale)};
  }
  static uint8_t* Bytes(const at::Tensor& t) {
    return t.defined() ? static_cast<uint8_t*>(t.data_ptr()) : nullptr;
  }

  // The number of a scale of a block.
  static int Number(int64_t block, Scale scale) {
    return static_cast<int>(block) * kScales + scale;
  }

  // Whether the first step is over, and scales of activations are known.
  bool calibrated = false;
  // Fp8Scale, kFp8History floats of each, and the number of updates.
  at::Tensor scales, history, step;
  std::vector<Block> blocks;
  // Shared by all blocks: what one layer's backward pass leaves for the next.
  Tensor branch_gradient, wide_gradient;
  // Fp8Weight of each matrix, on the device.
  at::Tensor weights;
  int64_t weight_count = 0;
  int64_t weight_tiles = 0;
};

}  // namespace feedrate
