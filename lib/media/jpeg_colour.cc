#include "lib/media/jpeg_colour.h"

#include <cstring>

#include "lib/base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/media/jpeg_colour.cc"
// clang-format off
#include "hwy/foreach_target.h"  // Must come before highway.h.
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feedrate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::FixedTag<uint8_t, 16>;
using HalfBytes = hn::FixedTag<uint8_t, 8>;
using Shorts = hn::FixedTag<int16_t, 8>;
using UShorts = hn::FixedTag<uint16_t, 8>;
using Ints = hn::FixedTag<int32_t, 4>;

HWY_INLINE hn::Vec<UShorts> LoadWide(const uint8_t* p) {
  return hn::PromoteTo(UShorts(), hn::LoadU(HalfBytes(), p));
}

// 3 near + far of each column, from sums[0] for column -1 on.
HWY_INLINE void SumRows(const uint8_t* near, const uint8_t* far, int count,
                        JpegEdges edges, uint16_t* sums) {
  const UShorts tag;
  const auto three = hn::Set(tag, uint16_t{3});
  const int first = edges.left ? 0 : -1;
  const int end = edges.right ? count : count + 1;
  for (int i = first; i < end; i += 8) {
    auto sum = LoadWide(near + i);
    if (far != nullptr) {
      sum = hn::Add(hn::Mul(sum, three), LoadWide(far + i));
    }
    hn::StoreU(sum, tag, sums + 1 + i);
  }
  // An edge is its own neighbour.
  if (edges.left) sums[0] = sums[1];
  if (edges.right) sums[count + 1] = sums[count];
}

template <int kShift, int kRoundLeft, int kRoundRight>
HWY_INLINE void WidenSums(const uint16_t* sums, int count, uint8_t* out) {
  const UShorts tag;
  const auto three = hn::Set(tag, uint16_t{3});
  const auto round_left = hn::Set(tag, uint16_t{kRoundLeft});
  const auto round_right = hn::Set(tag, uint16_t{kRoundRight});
  for (int i = 0; i < count; i += 8) {
    const auto middle = hn::Mul(hn::LoadU(tag, sums + 1 + i), three);
    const auto before = hn::Add(hn::LoadU(tag, sums + i), round_left);
    const auto after = hn::Add(hn::LoadU(tag, sums + 2 + i), round_right);
    const auto left = hn::ShiftRight<kShift>(hn::Add(middle, before));
    const auto right = hn::ShiftRight<kShift>(hn::Add(middle, after));
    // Little-endian: the left one comes first.
    const auto both = hn::Or(left, hn::ShiftLeft<8>(right));
    hn::StoreU(hn::BitCast(Bytes(), both), Bytes(), out + 2 * i);
  }
}

void Widen(const uint8_t* near, const uint8_t* far, int count, JpegEdges edges,
           uint16_t* sums, uint8_t* out) {
  SumRows(near, far, count, edges, sums);
  if (far != nullptr) {
    WidenSums<4, 8, 7>(sums, count, out);
  } else {
    WidenSums<2, 1, 2>(sums, count, out);
  }
}

void Blend(const uint8_t* near, const uint8_t* far, int count,
           bool far_is_below, uint8_t* out) {
  const UShorts tag;
  const auto three = hn::Set(tag, uint16_t{3});
  const auto round = hn::Set(tag, static_cast<uint16_t>(far_is_below ? 2 : 1));
  for (int i = 0; i < count; i += 8) {
    const auto sum = hn::Add(hn::Mul(LoadWide(near + i), three),
                             hn::Add(LoadWide(far + i), round));
    const auto blended = hn::BitCast(Shorts(), hn::ShiftRight<2>(sum));
    hn::StoreU(hn::DemoteTo(HalfBytes(), blended), HalfBytes(), out + i);
  }
}

// -0.34414 cb - 0.71414 cr of four pixels.
template <bool kUpper>
HWY_INLINE hn::Vec<Ints> GreenPart(hn::Vec<Shorts> cb, hn::Vec<Shorts> cr) {
  const Ints ints;
  const hn::Half<Shorts> half;
  const auto wide = [&](hn::Vec<Shorts> v) HWY_ATTR {
    return hn::PromoteTo(
        ints, kUpper ? hn::UpperHalf(half, v) : hn::LowerHalf(half, v));
  };
  const auto sum = hn::Add(hn::Mul(wide(cb), hn::Set(ints, -11277)),
                           hn::Mul(wide(cr), hn::Set(ints, -23401)));
  return hn::ShiftRight<15>(hn::Add(sum, hn::Set(ints, 1 << 14)));
}

struct Rgb {
  hn::Vec<HalfBytes> red, green, blue;
};

HWY_INLINE Rgb Convert(const uint8_t* y, const uint8_t* cb, const uint8_t* cr) {
  const Shorts shorts;
  const hn::Half<Shorts> half;
  const auto middle = hn::Set(shorts, int16_t{128});
  const auto luma = hn::BitCast(shorts, LoadWide(y));
  const auto blue = hn::Sub(hn::BitCast(shorts, LoadWide(cb)), middle);
  const auto red = hn::Sub(hn::BitCast(shorts, LoadWide(cr)), middle);
  // 1.402 and 1.772 times 2^14, of twice the colour and a half of 2^15.
  const auto red_part =
      hn::MulFixedPoint15(hn::Add(red, red), hn::Set(shorts, int16_t{22971}));
  const auto blue_part =
      hn::MulFixedPoint15(hn::Add(blue, blue), hn::Set(shorts, int16_t{29033}));
  const auto green_part =
      hn::Combine(shorts, hn::DemoteTo(half, GreenPart<true>(blue, red)),
                  hn::DemoteTo(half, GreenPart<false>(blue, red)));
  const HalfBytes bytes;
  return {hn::DemoteTo(bytes, hn::Add(luma, red_part)),
          hn::DemoteTo(bytes, hn::Add(luma, green_part)),
          hn::DemoteTo(bytes, hn::Add(luma, blue_part))};
}

void ToRgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int width,
           uint8_t* rgb) {
  int x = 0;
  for (; x + 8 <= width; x += 8) {
    const Rgb v = Convert(y + x, cb + x, cr + x);
    hn::StoreInterleaved3(v.red, v.green, v.blue, HalfBytes(), rgb + 3 * x);
  }
  if (x == width) return;
  uint8_t last[24];
  const Rgb v = Convert(y + x, cb + x, cr + x);
  hn::StoreInterleaved3(v.red, v.green, v.blue, HalfBytes(), last);
  std::memcpy(rgb + 3 * x, last, 3 * (width - x));
}

void GreyToRgb(const uint8_t* y, int width, uint8_t* rgb) {
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    const auto v = hn::LoadU(Bytes(), y + x);
    hn::StoreInterleaved3(v, v, v, Bytes(), rgb + 3 * x);
  }
  for (; x < width; ++x) std::memset(rgb + 3 * x, y[x], 3);
}

}  // namespace HWY_NAMESPACE
}  // namespace feedrate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feedrate {

HWY_EXPORT(Widen);
HWY_EXPORT(Blend);
HWY_EXPORT(ToRgb);
HWY_EXPORT(GreyToRgb);

JpegRows ChooseJpegRows() {
  // Else each call would look at the processor anew, see ChooseJpegIdct.
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return {HWY_DYNAMIC_DISPATCH(Widen), HWY_DYNAMIC_DISPATCH(Blend),
          HWY_DYNAMIC_DISPATCH(ToRgb), HWY_DYNAMIC_DISPATCH(GreyToRgb)};
}

}  // namespace feedrate
#endif  // HWY_ONCE
