// Tensors in FP8 for the products of the fused engine, on a Hopper: activations
// and weights in E4M3, gradients in E5M2, one scale per tensor. Kernels that
// produce a value write it in FP8, by the scale that the last steps' largest
// values gave, and note the largest value of this step for the next ones.
//
// The tensor cores multiply bytes only along rows of both matrices, so a tensor
// that is summed over its rows, for the gradient of weights, is written
// transposed as well. Its rows then come in an order of our own (fp8.cuh), the
// same for both matrices of a product.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "lib/model/fused/kernels.h"

namespace feedrate {
namespace fused {

// On the device. cuBLASLt reads `inverse` at an address aligned to 16 bytes.
struct alignas(16) Fp8Scale {
  // A value is its FP8 number times `inverse`.
  float inverse = 1;
  float scale = 1;
  // Bits of the largest absolute value since the last UpdateFp8Scales.
  unsigned largest = 0;
  // The largest number of the type.
  float limit = 0;
  // How many values were larger than their type can tell.
  unsigned long long clipped = 0;
};
constexpr float kE4m3Limit = 448;
constexpr float kE5m2Limit = 57344;

// Steps whose largest values decide a scale.
constexpr int kFp8History = 16;

// A transposed tensor has room for whole groups of so many rows. What is beyond
// its rows must be zero, and stays so.
constexpr int kFp8Rows = 128;
#if defined(__CUDACC__)
__host__ __device__
#endif
    inline int64_t
    Fp8PaddedRows(int64_t rows) {
  return (rows + kFp8Rows - 1) / kFp8Rows * kFp8Rows;
}

// Where a kernel writes a tensor of rows x width.
struct Fp8Out {
  // rows x width.
  uint8_t* rows = nullptr;
  // width x Fp8PaddedRows(rows). May be null.
  uint8_t* columns = nullptr;
  Fp8Scale* scale = nullptr;
};
// What a product reads of one.
struct Fp8In {
  const uint8_t* values = nullptr;
  const Fp8Scale* scale = nullptr;
};

// Whether the current device is a Hopper and the kernels below have this shape.
bool HasFp8(int64_t width, int64_t hidden);

// Scales first to first + count - 1, by the largest values of the last
// kFp8History steps, twice over. `history` has kFp8History floats per scale.
// `step` is increased. With `anew`, what came before does not count, and values
// that were clipped are forgotten.
void UpdateFp8Scales(Fp8Scale* scales, float* history, int64_t* step, int first,
                     int count, bool anew, cudaStream_t s);

// One matrix of weights, outputs x inputs; both are multiples of 64.
struct Fp8Weight {
  const float* values = nullptr;
  // Without `columns` if that is null; that one is inputs x outputs, in their
  // own order.
  Fp8Out out;
  // The rows of `rows`, or of `columns`, come in the order in which a lane of
  // the tensor cores has its sums. For the right matrix of the products below.
  bool lane_rows = false;
  bool lane_columns = false;
  int outputs = 0;
  int inputs = 0;
};
// `weights` is on the device; `tiles` is at least outputs / 64 * inputs / 64 of
// each.
void RunFp8Weights(const Fp8Weight* weights, int count, int tiles,
                   cudaStream_t s);

// As RunAddNorm; a.normed may be null: nothing reads it.
void RunAddNormFp8(const AddNorm& a, const Fp8Out& normed, cudaStream_t s);
// As RunNormBackward, with a branch; a.dy is not used.
void RunNormBackwardFp8(const NormBackward& a, const Fp8Out& dy,
                        cudaStream_t s);

struct UpProductFp8 {
  // rows x width, and hidden x width with lane_rows.
  Fp8In x, weight;
  const Bf16* bias = nullptr;
  // GELU of x weight^T + bias, in the tanh form, and its slope, as UpProduct.
  Fp8Out activated;
  uint8_t* slope = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t hidden = 0;
};
void RunUpProductFp8(const UpProductFp8& a, cudaStream_t s);

struct DownGradientFp8 {
  // rows x width, and hidden x width (transposed weights) with lane_columns.
  Fp8In dy, weight;
  const uint8_t* slope = nullptr;
  // (dy weight) times the slope. The sums of its columns are added to, or
  // become, dbias.
  Fp8Out gradient;
  float* dbias = nullptr;
  SumList* sums = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t hidden = 0;
  bool accumulate = false;
};
void RunDownGradientFp8(const DownGradientFp8& a, cudaStream_t s);

}  // namespace fused
}  // namespace feedrate
