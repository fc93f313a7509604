// What the programs that check kernels share: device memory, random values, and
// the comparison with double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "lib/model/fused/kernels.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {

struct AttentionSizes {
  int64_t batch, heads, tokens, queries;
  // One weight of the norm of Q, if it is not 0.
  float weight = 0;
  bool causal = false;
};

// In attention_check.cu.
void CheckAttention(const AttentionSizes& z);
void TimeAttention(const AttentionSizes& z);
void TimeCausal(const AttentionSizes& z);

// In hopper_check.cu: products of rows x width and width x hidden.
void CheckHopperProducts(int64_t rows, int64_t width, int64_t hidden);
void CheckQkvProduct(int64_t rows, int64_t heads, int64_t tokens);
void TimeHopperProducts(int64_t rows, int64_t width, int64_t hidden);

// In fp8_check.cu.
void CheckFp8();
void TimeFp8(int64_t rows, int64_t width, int64_t hidden);

// GELU of x and its slope, in the tanh form.
struct ExactGelu {
  explicit ExactGelu(double x) {
    const double a = std::sqrt(2 / M_PI), b = 0.044715 * a;
    const double t = std::tanh(a * x + b * x * x * x);
    value = x * (1 + t) / 2;
    slope = (1 + t) / 2 + x * (1 - t * t) * (a + 3 * b * x * x) / 2;
  }
  double value, slope;
};

// How many checks failed.
inline int failures = 0;

// Doubles of any values.
template <typename T>
std::vector<double> Doubles(const std::vector<T>& values) {
  std::vector<double> out;
  for (const T& v : values) out.push_back(static_cast<float>(v));
  return out;
}

// Device memory, filled from or read to the host.
template <typename T>
class CheckBuffer {
 public:
  explicit CheckBuffer(size_t count) : count_(count) {
    if (cudaMalloc(&data_, count * sizeof(T)) != cudaSuccess) std::abort();
    // Poison: every result must be written.
    cudaMemset(data_, 0xff, count * sizeof(T));
  }
  explicit CheckBuffer(const std::vector<T>& host) : CheckBuffer(host.size()) {
    cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyDefault);
  }
  ~CheckBuffer() { cudaFree(data_); }
  CheckBuffer(const CheckBuffer&) = delete;
  CheckBuffer& operator=(const CheckBuffer&) = delete;
  operator T*() { return data_; }
  std::vector<double> Read() {
    std::vector<T> host(count_);
    cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDefault);
    return Doubles(host);
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};

// A residual stream on the device.
class CheckStream {
 public:
  CheckStream(int64_t rows, int64_t width)
      : width_(width), values_(rows * width), units_(rows) {}
  // Rounds the values to what it has.
  CheckStream(std::vector<float>* values, int64_t width)
      : CheckStream(values->size() / width, width) {
    std::vector<uint16_t> numbers;
    std::vector<float> units;
    for (size_t i = 0; i < values->size(); ++i) {
      if (i % width == 0) {
        float largest = 0;
        for (int64_t c = 0; c < width; ++c) {
          largest = std::max(largest, std::fabs((*values)[i + c]));
        }
        units.push_back(largest / 32767);
      }
      float& v = (*values)[i];
      const float unit = units.back();
      numbers.push_back(std::lround(unit == 0 ? 0 : v / unit) + 32768);
      v = (numbers.back() - 32768) * unit;
    }
    cudaMemcpy(values_, numbers.data(), 2 * numbers.size(), cudaMemcpyDefault);
    cudaMemcpy(units_, units.data(), 4 * units.size(), cudaMemcpyDefault);
  }
  operator Residual() { return {values_, units_}; }
  std::vector<double> Read() {
    std::vector<double> out = values_.Read();
    const std::vector<double> units = units_.Read();
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = (out[i] - 32768) * units[i / width_];
    }
    return out;
  }

 private:
  const int64_t width_;
  CheckBuffer<uint16_t> values_;
  CheckBuffer<float> units_;
};

// Room for the sums of a few kernels.
class CheckSums : public SumList {
 public:
  CheckSums() : CheckSums(std::make_unique<CheckBuffer<float>>(kFloats)) {}

 private:
  static constexpr int64_t kFloats = 4 << 20;
  explicit CheckSums(std::unique_ptr<CheckBuffer<float>> memory)
      : SumList(*memory, kFloats), memory_(std::move(memory)) {}
  const std::unique_ptr<CheckBuffer<float>> memory_;
};

inline std::mt19937 random_bits(1);

template <typename T>
std::vector<T> Random(size_t count, float scale = 1, float mean = 0) {
  std::normal_distribution<float> normal(mean, scale);
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(normal(random_bits)));
  }
  return values;
}

// |got - want| / |want| of all values must be below `bar`.
inline void Hold(const char* what, const std::vector<double>& got,
                 const std::vector<double>& want, double bar) {
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  const double relative = std::sqrt(error / std::max(size, 1e-30));
  const bool good = relative < bar && got.size() >= want.size();
  failures += !good;
  std::printf("%-44s error %.2e, bar %.0e%s\n", what, relative, bar,
              good ? "" : "  <-- WRONG");
}

// Median of 20 calls, in microseconds, after three.
inline double Microseconds(const std::function<void()>& call) {
  std::vector<float> times;
  cudaEvent_t start, end;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  for (int i = -3; i < 20; ++i) {
    cudaEventRecord(start);
    call();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, start, end);
    if (i >= 0) times.push_back(ms * 1e3f);
  }
  Check("a timed kernel");
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Bars: one rounding to bf16 is 2^-9 at most, in a residual stream 2^-16 of a
// row's largest value; sums in fp32 are far more exact.
constexpr double kRounded = 4e-3;
constexpr double kRoundedStream = 1e-4;
constexpr double kExact = 1e-5;

}  // namespace fused
}  // namespace feedrate
