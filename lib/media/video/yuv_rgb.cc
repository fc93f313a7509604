#include "lib/media/video/yuv_rgb.h"

#include <vector>

#include "lib/base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/media/video/yuv_rgb.cc"
// clang-format off
#include "hwy/foreach_target.h"  // Must come before highway.h.
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feedrate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<uint8_t> kBytes;
const hn::Half<decltype(kBytes)> kHalf;
const hn::ScalableTag<int16_t> kShorts;
const hn::ScalableTag<uint16_t> kUnsigned;
constexpr int kStep =
    static_cast<int>(hn::MaxLanes(hn::ScalableTag<uint8_t>()));

using Shorts = hn::Vec<decltype(kShorts)>;

// What chroma adds to each pixel of a row, including the rounding.
struct ChromaRow {
  int16_t* red;
  int16_t* green;
  int16_t* blue;
};

void SpreadByOne(const uint8_t* u, const uint8_t* v, const YuvWeights& weights,
                 int from, int pairs, const ChromaRow& out) {
  for (int i = from; i < pairs; ++i) {
    out.red[2 * i] = out.red[2 * i + 1] =
        static_cast<int16_t>(RedOf(weights, v[i]));
    out.green[2 * i] = out.green[2 * i + 1] =
        static_cast<int16_t>(GreenOf(weights, u[i], v[i]));
    out.blue[2 * i] = out.blue[2 * i + 1] =
        static_cast<int16_t>(BlueOf(weights, u[i]));
  }
}

void Spread(const uint8_t* u, const uint8_t* v, const YuvWeights& weights,
            int pairs, const ChromaRow& out) {
  constexpr int kPairs = kStep / 2;
  const Shorts half = hn::Set(kShorts, 128);
  const Shorts rounding = hn::Set(kShorts, 32);
  const Shorts red_v = hn::Set(kShorts, weights.red_v);
  const Shorts green_u = hn::Set(kShorts, weights.green_u);
  const Shorts green_v = hn::Set(kShorts, weights.green_v);
  const Shorts blue_u = hn::Set(kShorts, weights.blue_u);
  int i = 0;
  for (; i + kPairs <= pairs; i += kPairs) {
    const Shorts us =
        hn::Sub(hn::PromoteTo(kShorts, hn::LoadU(kHalf, u + i)), half);
    const Shorts vs =
        hn::Sub(hn::PromoteTo(kShorts, hn::LoadU(kHalf, v + i)), half);
    const Shorts red = hn::Add(hn::Mul(vs, red_v), rounding);
    const Shorts blue = hn::Add(hn::Mul(us, blue_u), rounding);
    const Shorts green =
        hn::Sub(hn::Sub(rounding, hn::Mul(us, green_u)), hn::Mul(vs, green_v));
    hn::StoreInterleaved2(red, red, kShorts, out.red + 2 * i);
    hn::StoreInterleaved2(green, green, kShorts, out.green + 2 * i);
    hn::StoreInterleaved2(blue, blue, kShorts, out.blue + 2 * i);
  }
  SpreadByOne(u, v, weights, i, pairs, out);
}

// LumaOf in 16 bits: what it halves has 17 of them.
class Luma {
 public:
  explicit Luma(const YuvWeights& weights)
      : weight_(hn::Set(kUnsigned, static_cast<uint16_t>(weights.y))),
        sign_(hn::Set(kUnsigned, 0x8000)),
        shift_(hn::Set(kShorts, static_cast<int16_t>(Rest(weights) >> 1))),
        odd_(hn::Set(kShorts, static_cast<int16_t>(Rest(weights) & 1))) {}

  HWY_INLINE Shorts Of(hn::Vec<hn::Half<hn::ScalableTag<uint8_t>>> y) const {
    // (product - 2^15 + rest) / 2, rounded down, by parts.
    const Shorts low = hn::BitCast(
        kShorts, hn::Xor(hn::Mul(hn::PromoteTo(kUnsigned, y), weight_), sign_));
    return hn::Add(hn::Add(hn::ShiftRight<1>(low), shift_), hn::And(low, odd_));
  }

 private:
  // What is added to product - 2^15 before halving.
  static int Rest(const YuvWeights& weights) {
    return 0x8000 + 1 - weights.black * weights.y;
  }

  const hn::Vec<decltype(kUnsigned)> weight_;
  const hn::Vec<decltype(kUnsigned)> sign_;
  const Shorts shift_;
  const Shorts odd_;
};

// YuvToByte. Sums that do not fit are beyond the range of bytes anyway.
HWY_INLINE hn::Vec<hn::Half<hn::ScalableTag<uint8_t>>> ToBytes(
    Shorts luma, const int16_t* chroma) {
  const Shorts sum = hn::SaturatedAdd(luma, hn::LoadU(kShorts, chroma));
  return hn::DemoteTo(kHalf, hn::ShiftRight<6>(sum));
}

void RowByOne(const uint8_t* y, const ChromaRow& chroma,
              const YuvWeights& weights, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x) {
    const int luma = LumaOf(weights.black, weights.y, y[x]);
    rgb[3 * x] = YuvToByte(luma + chroma.red[x]);
    rgb[3 * x + 1] = YuvToByte(luma + chroma.green[x]);
    rgb[3 * x + 2] = YuvToByte(luma + chroma.blue[x]);
  }
}

void Row(const uint8_t* y, const ChromaRow& chroma, const YuvWeights& weights,
         const Luma& luma, int width, uint8_t* rgb) {
  if (width < kStep) {
    RowByOne(y, chroma, weights, width, rgb);
    return;
  }
  const auto step = [&](int x) {
    const auto bytes = hn::LoadU(kBytes, y + x);
    const Shorts low = luma.Of(hn::LowerHalf(kHalf, bytes));
    const Shorts high = luma.Of(hn::UpperHalf(kHalf, bytes));
    const int far = x + kStep / 2;
    hn::StoreInterleaved3(hn::Combine(kBytes, ToBytes(high, chroma.red + far),
                                      ToBytes(low, chroma.red + x)),
                          hn::Combine(kBytes, ToBytes(high, chroma.green + far),
                                      ToBytes(low, chroma.green + x)),
                          hn::Combine(kBytes, ToBytes(high, chroma.blue + far),
                                      ToBytes(low, chroma.blue + x)),
                          kBytes, rgb + 3 * x);
  };
  int x = 0;
  for (; x + kStep <= width; x += kStep) step(x);
  // The rest is covered by doing some pixels twice.
  if (x < width) step(width - kStep);
}

void Yuv420ToRgb(const Yuv420Part& part, uint8_t* rgb) {
  const int odd = part.starts_odd ? 1 : 0;
  const int pairs = (odd + part.width + 1) / 2;
  // Kept between frames, to save allocations.
  thread_local std::vector<int16_t> sums;
  sums.resize(static_cast<size_t>(pairs) * 6);
  const ChromaRow spread = {sums.data(), sums.data() + 2 * pairs,
                            sums.data() + 4 * pairs};
  const ChromaRow chroma = {spread.red + odd, spread.green + odd,
                            spread.blue + odd};
  const Luma luma(part.weights);
  for (int row = 0; row < part.height; ++row) {
    const int at = row + (part.starts_on_odd_row ? 1 : 0);
    if (row == 0 || at % 2 == 0) {
      Spread(part.u + at / 2 * part.u_stride, part.v + at / 2 * part.v_stride,
             part.weights, pairs, spread);
    }
    Row(part.y + row * part.y_stride, chroma, part.weights, luma, part.width,
        rgb);
    rgb += int64_t{3} * part.width;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace feedrate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feedrate {

HWY_EXPORT(Yuv420ToRgb);

void Yuv420ToRgb(const Yuv420Part& part, uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(Yuv420ToRgb)(part, rgb);
}

}  // namespace feedrate
#endif  // HWY_ONCE
