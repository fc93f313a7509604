// Bytes to bytes: tones and histogram equalization.
#include "lib/ops/cuda/kernels/device_io.cuh"
#include "lib/ops/cuda/kernels/fused.h"

namespace feedrate::fused {
namespace {

constexpr int kToneThreads = 256;
constexpr int kToneBlocks = 12;  // Per image.
// Words of 16 bytes that a thread loads before it stores the first.
constexpr int kToneUnits = 4;

// Four equal bytes.
__device__ __forceinline__ uint32_t Bytes4(uint32_t byte) {
  return byte * 0x01010101u;
}

// A tone with its amount as words, so that four bytes are one operation.
struct ToneWords {
  Tone tone;
  float amount;
  uint32_t bytes;  // Bits that stay, or what is inverted from here on.
};

__device__ __forceinline__ ToneWords WordsOfTone(Tone tone, float amount) {
  ToneWords words = {tone, amount, 0};
  if (tone == Tone::kPosterize) {
    words.bytes = Bytes4(0xff00u >> static_cast<int>(amount) & 255);
  } else if (tone == Tone::kSolarize) {
    // A byte is at least `amount` if it is at least the next whole number.
    // Above 255, or if it is not a number, nothing changes.
    if (amount <= 255) {
      words.bytes = Bytes4(static_cast<uint32_t>(ceilf(fmaxf(amount, 0))));
    } else {
      words.tone = Tone::kPosterize;
      words.bytes = ~0u;
    }
  }
  return words;
}

__device__ __forceinline__ uint32_t ToneWord(uint32_t word,
                                             const ToneWords& tone) {
  if (tone.tone == Tone::kInvert) return ~word;
  if (tone.tone == Tone::kPosterize) return word & tone.bytes;
  if (tone.tone == Tone::kSolarize) return word ^ __vcmpgeu4(word, tone.bytes);
  uint32_t result = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const auto value = static_cast<uint8_t>(word >> (8 * k));
    result |= static_cast<uint32_t>(ToneOf(value, tone.tone, tone.amount))
              << (8 * k);
  }
  return result;
}

__global__ __launch_bounds__(kToneThreads) void ToneKernel(
    const ByteImage* in, Tone tone, const float* amounts,
    const ByteImage* out) {
  const ByteImage from = in[blockIdx.y];
  const ByteImage to = out[blockIdx.y];
  const float amount = amounts[blockIdx.y];
  const ToneWords words = WordsOfTone(tone, amount);
  // Rows without gaps are one long row.
  const int row_bytes = from.width * 3;
  const bool joined = from.stride == row_bytes && to.stride == row_bytes;
  const int rows = joined ? 1 : from.height;
  const int size = joined ? row_bytes * from.height : row_bytes;
  const int units = (size + 15) / 16;
  const uintptr_t places =
      reinterpret_cast<uintptr_t>(from.data) |
      reinterpret_cast<uintptr_t>(to.data) |
      (joined ? 0 : static_cast<uintptr_t>(from.stride | to.stride));
  const bool aligned = (places & 15) == 0;
  constexpr int kStep = kToneBlocks * kToneThreads;
  for (int first = blockIdx.x * kToneThreads + threadIdx.x;
       first < rows * units; first += kToneUnits * kStep) {
    uint4 loaded[kToneUnits];
    const auto place = [&](int k, int* row, int* at) {
      const int i = first + k * kStep;
      *row = joined ? 0 : i / units;
      *at = (i - *row * units) * 16;
      return i < rows * units;
    };
    int row, at;
#pragma unroll
    for (int k = 0; k < kToneUnits; ++k) {
      if (place(k, &row, &at) && aligned && at + 16 <= size) {
        loaded[k] = __ldcs(
            reinterpret_cast<const uint4*>(from.data + row * from.stride + at));
      }
    }
#pragma unroll
    for (int k = 0; k < kToneUnits; ++k) {
      if (!place(k, &row, &at)) continue;
      uint8_t* target = to.data + row * to.stride + at;
      if (aligned && at + 16 <= size) {
        loaded[k].x = ToneWord(loaded[k].x, words);
        loaded[k].y = ToneWord(loaded[k].y, words);
        loaded[k].z = ToneWord(loaded[k].z, words);
        loaded[k].w = ToneWord(loaded[k].w, words);
        __stcs(reinterpret_cast<uint4*>(target), loaded[k]);
        continue;
      }
      const uint8_t* source = from.data + row * from.stride + at;
      for (int j = 0; j < 16 && at + j < size; ++j) {
        target[j] = ToneOf(source[j], tone, amount);
      }
    }
  }
}

constexpr int kFlatThreads = 1024;
// Warps use several copies of the histogram, so that fewer wait for the same
// counter.
constexpr int kCopies = 8;

// Calls function(offset, four pixels, count of valid pixels) for all pixels.
template <typename Function>
__device__ __forceinline__ void ForQuads(const ByteImage& image,
                                         Function function) {
  const int per_row = (image.width + 3) / 4;
  for (int i = threadIdx.x; i < per_row * image.height; i += kFlatThreads) {
    const int y = i / per_row;
    const int x = (i - y * per_row) * 4;
    const uint8_t* at = image.data + y * image.stride + 3 * x;
    const int count = min(4, image.width - x);
    uint32_t p[4];
    if (count == 4) {
      const Quad quad = LoadQuad(at);
#pragma unroll
      for (int k = 0; k < 4; ++k) p[k] = PixelOf(quad, k);
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) p[k] = k < count ? LoadPixel(at + 3 * k) : 0;
    }
    function(y, x, p, count);
  }
}

// Makes the table of one channel with one warp, eight values per lane.
__device__ __forceinline__ void FlatTable(const uint32_t* counts,
                                          uint32_t pixels, uint8_t* table) {
  const int lane = threadIdx.x & 31;
  uint32_t own[8];
  uint32_t sum = 0;
  uint32_t greatest = 0;  // Greatest value + 1, and its count.
  uint32_t of_greatest = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    own[k] = counts[lane * 8 + k];
    sum += own[k];
    if (own[k] != 0) {
      greatest = lane * 8 + k + 1;
      of_greatest = own[k];
    }
  }
  uint32_t highest = greatest;
  for (int offset = 16; offset > 0; offset /= 2) {
    highest = max(highest, __shfl_xor_sync(0xffffffff, highest, offset));
  }
  const uint32_t holder =
      __ffs(__ballot_sync(0xffffffff, greatest == highest)) - 1;
  of_greatest = __shfl_sync(0xffffffff, of_greatest, holder);
  uint32_t below = sum;
  for (int offset = 1; offset < 32; offset *= 2) {
    const uint32_t other = __shfl_up_sync(0xffffffff, below, offset);
    if (lane >= offset) below += other;
  }
  below -= sum;
  const uint32_t step = EqualizeStep(pixels, of_greatest);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    table[lane * 8 + k] = step == 0 ? static_cast<uint8_t>(lane * 8 + k)
                                    : EqualizedValue(below, step);
    below += own[k];
  }
}

__global__ __launch_bounds__(kFlatThreads) void EqualizeKernel(
    const ByteImage* in, const ByteImage* out) {
  __shared__ uint32_t counts[kCopies][3][256];
  __shared__ uint8_t tables[3][256];
  const ByteImage from = in[blockIdx.x];
  const ByteImage to = out[blockIdx.x];
  uint32_t* all = &counts[0][0][0];
  for (int i = threadIdx.x; i < kCopies * 3 * 256; i += kFlatThreads) {
    all[i] = 0;
  }
  __syncthreads();
  uint32_t* own = &counts[threadIdx.x / 32 % kCopies][0][0];
  ForQuads(from, [&](int, int, const uint32_t p[4], int count) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k >= count) continue;
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        atomicAdd(own + c * 256 + (p[k] >> (8 * c) & 255), 1u);
      }
    }
  });
  __syncthreads();
  for (int i = threadIdx.x; i < 3 * 256; i += kFlatThreads) {
    for (int copy = 1; copy < kCopies; ++copy) all[i] += all[copy * 768 + i];
  }
  __syncthreads();
  if (threadIdx.x < 96) {
    const int c = threadIdx.x / 32;
    FlatTable(all + c * 256, static_cast<uint32_t>(from.height) * from.width,
              tables[c]);
  }
  __syncthreads();
  ForQuads(from, [&](int y, int x, const uint32_t p[4], int count) {
    uint32_t q[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      q[k] = tables[0][p[k] & 255] | tables[1][p[k] >> 8 & 255] << 8 |
             tables[2][p[k] >> 16] << 16;
    }
    StorePixels(to.data + y * to.stride + 3 * x, q, count);
  });
}

}  // namespace

cudaError_t ToneBytes(const ByteImage* in, Tone tone, const float* amounts,
                      int count, const ByteImage* out, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  ToneKernel<<<dim3(kToneBlocks, count), kToneThreads, 0, stream>>>(
      in, tone, amounts, out);
  return cudaGetLastError();
}

cudaError_t EqualizeBytes(const ByteImage* in, int count, const ByteImage* out,
                          cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  EqualizeKernel<<<count, kFlatThreads, 0, stream>>>(in, out);
  return cudaGetLastError();
}

}  // namespace feedrate::fused
