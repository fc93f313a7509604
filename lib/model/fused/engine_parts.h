// What engine.cc and engine_setup.cc share, and nobody else includes.
#pragma once

#include <ATen/cuda/CUDAContext.h>

#include <memory>

#include "lib/model/fused/engine.h"

namespace feedrate {

using fused::Bf16;
using fused::Product;

constexpr int64_t kHeadWidth = 64;
constexpr size_t kWorkspaceBytes = 64 << 20;

inline cudaStream_t Stream() { return at::cuda::getCurrentCUDAStream(); }

inline Bf16* Half(const at::Tensor& t) {
  return static_cast<Bf16*>(t.data_ptr());
}
inline float* Floats(const at::Tensor& t) {
  return static_cast<float*>(t.data_ptr());
}

// The three products of one matrix of weights.
struct FusedEngine::Layer {
  Layer(cublasLtHandle_t handle, const at::Tensor& workspace, Product forward,
        Product backward, int64_t rows, int64_t inputs, int64_t outputs,
        bool float_out = false)
      : forward(handle, {forward, rows, inputs, outputs, float_out},
                workspace.data_ptr(), kWorkspaceBytes),
        input_gradient(handle, {backward, rows, inputs, outputs, false},
                       workspace.data_ptr(), kWorkspaceBytes),
        weight_gradient(handle,
                        {Product::kWeightGradient, rows, inputs, outputs, true},
                        workspace.data_ptr(), kWorkspaceBytes) {}

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
  // The stream before the block and between its halves.
  at::Tensor x, middle;
  at::Tensor normed, middle_normed;
  at::Tensor rstd, middle_rstd;
  at::Tensor qkv;
  // Normed and rotated: for text, and for images on a Hopper.
  at::Tensor q, k;
  at::Tensor mixed, log_sum;
  // Only the attention of text uses these.
  at::Tensor random_seed, random_offset;
  // `hidden` is what GELU got or, with gelu_inside_, its slopes.
  at::Tensor attention_out, hidden, activated, mlp_out;
  Weight attention_norm, qkv_w, q_norm, k_norm, projection, attention_scale;
  Weight mlp_norm, up, up_bias, down, down_bias, mlp_scale;
};

}  // namespace feedrate
