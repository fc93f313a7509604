// Matrix products on Hopper's tensor cores with GELU inside, for the MLP of a
// block: what they read and write besides the product moves while the tensor
// cores work on the next tile.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "lib/model/fused/kernels.h"

namespace feedrate {
namespace fused {

// Whether the current device is a Hopper and the products below have this
// shape.
bool HasHopperProducts(int64_t width, int64_t hidden);

int64_t SlopeBytes(int64_t rows, int64_t hidden);

struct UpProduct {
  // rows x width.
  const Bf16* x = nullptr;
  // hidden x width.
  const Bf16* weight = nullptr;
  const Bf16* bias = nullptr;
  // rows x hidden: GELU of x weight^T + bias, in the tanh form.
  Bf16* activated = nullptr;
  // Its slope, which is all that the backward pass needs: SlopeBytes(rows,
  // hidden) in an order of the kernels.
  uint8_t* slope = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t hidden = 0;
};
void RunUpProduct(const UpProduct& a, cudaStream_t s);

struct DownGradient {
  // rows x width.
  const Bf16* dy = nullptr;
  // width x hidden.
  const Bf16* weight = nullptr;
  const uint8_t* slope = nullptr;
  // rows x hidden: (dy weight) times the slope. The sums of its columns are
  // added to, or become, dbias.
  Bf16* gradient = nullptr;
  float* dbias = nullptr;
  SumList* sums = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t hidden = 0;
  bool accumulate = false;
};
void RunDownGradient(const DownGradient& a, cudaStream_t s);

// QKV, with Q and K normed within each head and rotated, as RunQkNormRope does
// it.
struct QkvProduct {
  // rows x width.
  const Bf16* x = nullptr;
  // 3 width x width.
  const Bf16* weight = nullptr;
  QkNormRope rope;
  // What RunQkNormRope leaves: `qkv` is rope.qkv.
  Bf16* qkv = nullptr;
  float* rstd = nullptr;
};
void RunQkvProduct(const QkvProduct& a, cudaStream_t s);

// Floats that a gradient takes of its list.
int64_t HopperPartialFloats(int64_t rows, int64_t hidden);

}  // namespace fused
}  // namespace feedrate
