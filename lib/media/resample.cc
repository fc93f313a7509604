#include "lib/media/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/media/resample.cc"
// clang-format off
#include "hwy/foreach_target.h"  // Must come before highway.h.
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feedrate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kBits = 32 - 8 - 2;
constexpr int32_t kHalf = 1 << (kBits - 1);

// One row: each result is a sum over pixels side by side. Reads a byte behind
// the last pixel.
void NarrowRow(const uint8_t* in, const Resampler::Taps& taps, int results,
               uint8_t* out) {
  const hn::FixedTag<int32_t, 4> ints;
  const hn::Rebind<uint8_t, decltype(ints)> bytes;
  const int32_t* weights = taps.weights.data();
  for (int x = 0; x < results; ++x, weights += taps.most) {
    auto sum = hn::Set(ints, kHalf);
    const uint8_t* pixel = in + 3 * taps.first[x];
    const int count = taps.count[x];
    for (int i = 0; i < count; ++i, pixel += 3) {
      const auto values = hn::PromoteTo(ints, hn::LoadU(bytes, pixel));
      sum = hn::Add(sum, hn::Mul(values, hn::Set(ints, weights[i])));
    }
    HWY_ALIGN uint8_t pixel_out[4];
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kBits>(sum)), bytes,
               pixel_out);
    for (int c = 0; c < 3; ++c) out[3 * x + c] = pixel_out[c];
  }
}

// One row of results, each a sum over `count` rows of `size` bytes.
void SumRows(const uint8_t* in, size_t stride, const int32_t* weights,
             int count, int size, uint8_t* out) {
  const hn::ScalableTag<int32_t> ints;
  const hn::Rebind<uint8_t, decltype(ints)> bytes;
  const int step = static_cast<int>(hn::Lanes(ints));
  int at = 0;
  for (; at + step <= size; at += step) {
    auto sum = hn::Set(ints, kHalf);
    const uint8_t* from = in + at;
    for (int i = 0; i < count; ++i, from += stride) {
      const auto values = hn::PromoteTo(ints, hn::LoadU(bytes, from));
      sum = hn::Add(sum, hn::Mul(values, hn::Set(ints, weights[i])));
    }
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<kBits>(sum)), bytes,
               out + at);
  }
  for (; at < size; ++at) {
    int32_t sum = kHalf;
    for (int i = 0; i < count; ++i) sum += weights[i] * in[at + i * stride];
    out[at] = static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace feedrate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feedrate {

HWY_EXPORT(NarrowRow);
HWY_EXPORT(SumRows);

namespace {

constexpr double kPi = 3.14159265358979323846;

double Sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= kPi;
  return std::sin(x) / x;
}

// The filters of Pillow's Resample.c, whose constants they keep.
double Weight(ResampleFilter filter, double x) {
  if (filter == ResampleFilter::kBox) return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
  if (filter == ResampleFilter::kLanczos) {
    return -3.0 <= x && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0;
  }
  if (x < 0.0) x = -x;
  switch (filter) {
    case ResampleFilter::kBilinear:
      return x < 1.0 ? 1.0 - x : 0.0;
    case ResampleFilter::kHamming:
      if (x == 0.0) return 1.0;
      if (x >= 1.0) return 0.0;
      x *= kPi;
      return std::sin(x) / x * (0.54f + 0.46f * std::cos(x));
    default:
      break;
  }
  constexpr double kA = -0.5;
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

double SupportOf(ResampleFilter filter) {
  switch (filter) {
    case ResampleFilter::kBox:
      return 0.5;
    case ResampleFilter::kBicubic:
      return 2.0;
    case ResampleFilter::kLanczos:
      return 3.0;
    default:
      return 1.0;
  }
}

// Taps of results [begin, begin + count) of `size`, from `from` values; sets
// which values they need.
Resampler::Taps TapsOf(int from, int size, int begin, int count,
                       ResampleFilter filter, int* first, int* needed) {
  Resampler::Taps taps;
  taps.copies = from == size;
  *first = begin;
  *needed = count;
  if (taps.copies) return taps;
  const double scale = static_cast<double>(from) / size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = SupportOf(filter) * filter_scale;
  taps.most = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(static_cast<size_t>(taps.most) * count);
  std::vector<double> exact(taps.most);
  int end = 0;
  *first = from;
  for (int i = 0; i < count; ++i) {
    const double center = (begin + i + 0.5) * scale;
    const double step = 1.0 / filter_scale;
    const int low = std::max(static_cast<int>(center - support + 0.5), 0);
    const int high = std::min(static_cast<int>(center + support + 0.5), from);
    double sum = 0;
    for (int k = 0; k < high - low; ++k) {
      exact[k] = Weight(filter, (k + low - center + 0.5) * step);
      sum += exact[k];
    }
    int32_t* const weights = &taps.weights[static_cast<size_t>(taps.most) * i];
    for (int k = 0; k < high - low; ++k) {
      const double share = sum != 0.0 ? exact[k] / sum : exact[k];
      const double whole = share * (1 << (32 - 8 - 2));
      weights[k] = static_cast<int32_t>(share < 0 ? whole - 0.5 : whole + 0.5);
    }
    taps.first.push_back(low);
    taps.count.push_back(high - low);
    *first = std::min(*first, low);
    end = std::max(end, high);
  }
  *needed = end - *first;
  for (int& low : taps.first) low -= *first;
  return taps;
}

}  // namespace

Resampler::Resampler(int height, int width, ResampleFilter filter,
                     const ResampleWindow& window)
    : height_(height), width_(width), filter_(filter), window_(window) {}

const ResampleWindow& Resampler::Plan(int height, int width) {
  if (height == from_height_ && width == from_width_) return from_;
  from_height_ = height;
  from_width_ = width;
  rows_ = TapsOf(height, height_, window_.y, window_.height, filter_, &from_.y,
                 &from_.height);
  columns_ = TapsOf(width, width_, window_.x, window_.width, filter_, &from_.x,
                    &from_.width);
  return from_;
}

int64_t Resampler::bytes() const {
  const size_t weights = rows_.weights.size() + columns_.weights.size();
  return static_cast<int64_t>(4 * weights + narrow_.size() + last_row_.size());
}

void Resampler::Run(const uint8_t* pixels, size_t from_stride, uint8_t* out,
                    size_t stride) {
  const size_t row_bytes = size_t{3} * window_.width;
  if (!columns_.copies) {
    narrow_.resize(row_bytes * from_.height);
    // The vectors read a byte behind the last pixel, which may be nobody's.
    const size_t last_bytes = size_t{3} * from_.width;
    last_row_.resize(last_bytes + 1);
    std::memcpy(last_row_.data(), pixels + from_stride * (from_.height - 1),
                last_bytes);
    for (int y = 0; y < from_.height; ++y) {
      HWY_DYNAMIC_DISPATCH(NarrowRow)
      (y + 1 < from_.height ? pixels + from_stride * y : last_row_.data(),
       columns_, window_.width, narrow_.data() + row_bytes * y);
    }
    pixels = narrow_.data();
    from_stride = row_bytes;
  }
  for (int y = 0; y < window_.height; ++y) {
    if (rows_.copies) {
      std::memcpy(out + stride * y, pixels + from_stride * y, row_bytes);
      continue;
    }
    HWY_DYNAMIC_DISPATCH(SumRows)
    (pixels + from_stride * rows_.first[y], from_stride,
     &rows_.weights[static_cast<size_t>(rows_.most) * y], rows_.count[y],
     static_cast<int>(row_bytes), out + stride * y);
  }
}

}  // namespace feedrate
#endif  // HWY_ONCE
