#include "lib/media/jpeg/reconstruct.h"

#include <cstring>

#include "lib/base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/media/jpeg/reconstruct.cc"
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
using UShorts = hn::FixedTag<uint16_t, 8>;
using Shorts = hn::FixedTag<int16_t, 8>;
using Ints = hn::FixedTag<int32_t, 4>;
using ShortVector = hn::Vec<Shorts>;
using IntVector = hn::Vec<Ints>;

// Inverse transform.

constexpr int kConstBits = 13;
// Fraction bits that the first pass passes to the second.
constexpr int kPass1Bits = 2;

template <bool kUpper>
HWY_INLINE IntVector Promote(ShortVector v) {
  const hn::Half<Shorts> half;
  return hn::PromoteTo(
      Ints(), kUpper ? hn::UpperHalf(half, v) : hn::LowerHalf(half, v));
}

HWY_INLINE IntVector Times(IntVector v, int32_t factor) {
  return hn::Mul(v, hn::Set(Ints(), factor));
}

// The products of the inverse transform for four of the eight columns, in
// libjpeg's names. z3 and z4 are added in 16 bits, as libjpeg-turbo does.
// Always initialized as an aggregate: g++ cannot inline the vectors'
// constructors into a default constructor for Arm.
struct Products {
  IntVector even2, even3;
  IntVector odd0, odd1, odd2, odd3;
};

#if HWY_ARCH_X86

// a * kA + b * kB. Multiplying in pairs takes a fraction of the time of
// multiplying 32 bits.
template <bool kUpper, int16_t kA, int16_t kB>
HWY_INLINE IntVector Pair(ShortVector a, ShortVector b) {
  const ShortVector both = kUpper ? hn::InterleaveUpper(Shorts(), a, b)
                                  : hn::InterleaveLower(Shorts(), a, b);
  const auto factors = hn::Set(
      Ints(), static_cast<int32_t>(
                  static_cast<uint16_t>(kA) |
                  static_cast<uint32_t>(static_cast<uint16_t>(kB)) << 16));
  return IntVector{_mm_madd_epi16(both.raw, factors.raw)};
}

template <bool kUpper>
HWY_INLINE Products Multiply(const ShortVector* in) {
  const ShortVector sum3 = hn::Add(in[7], in[3]);
  const ShortVector sum4 = hn::Add(in[5], in[1]);
  const IntVector z3 = Pair<kUpper, 9633 - 16069, 9633>(sum3, sum4);
  const IntVector z4 = Pair<kUpper, 9633, 9633 - 3196>(sum3, sum4);
  return {Pair<kUpper, 4433, 4433 - 15137>(in[2], in[6]),
          Pair<kUpper, 4433 + 6270, 4433>(in[2], in[6]),
          hn::Add(Pair<kUpper, 2446 - 7373, -7373>(in[7], in[1]), z3),
          hn::Add(Pair<kUpper, 16819 - 20995, -20995>(in[5], in[3]), z4),
          hn::Add(Pair<kUpper, -20995, 25172 - 20995>(in[5], in[3]), z3),
          hn::Add(Pair<kUpper, -7373, 12299 - 7373>(in[7], in[1]), z4)};
}

#else

template <bool kUpper>
HWY_INLINE Products Multiply(const ShortVector* in) {
  const IntVector in2 = Promote<kUpper>(in[2]);
  const IntVector in6 = Promote<kUpper>(in[6]);
  const IntVector turned = Times(hn::Add(in2, in6), 4433);
  const IntVector in7 = Promote<kUpper>(in[7]);
  const IntVector in5 = Promote<kUpper>(in[5]);
  const IntVector in3 = Promote<kUpper>(in[3]);
  const IntVector in1 = Promote<kUpper>(in[1]);
  IntVector z3 = Promote<kUpper>(hn::Add(in[7], in[3]));
  IntVector z4 = Promote<kUpper>(hn::Add(in[5], in[1]));
  const IntVector z1 = Times(hn::Add(in7, in1), -7373);
  const IntVector z2 = Times(hn::Add(in5, in3), -20995);
  const IntVector z5 = Times(hn::Add(z3, z4), 9633);
  z3 = hn::Add(Times(z3, -16069), z5);
  z4 = hn::Add(Times(z4, -3196), z5);
  return {hn::Add(turned, Times(in6, -15137)),
          hn::Add(turned, Times(in2, 6270)),
          hn::Add(Times(in7, 2446), hn::Add(z1, z3)),
          hn::Add(Times(in5, 16819), hn::Add(z2, z4)),
          hn::Add(Times(in3, 25172), hn::Add(z2, z3)),
          hn::Add(Times(in1, 12299), hn::Add(z1, z4))};
}

#endif  // HWY_ARCH_X86

// Eight sums, not yet scaled down, for four of the eight columns. Adds in 16
// bits wherever libjpeg-turbo does.
template <bool kUpper>
HWY_INLINE void Butterfly(const ShortVector* in, IntVector* out) {
  const Products p = Multiply<kUpper>(in);
  const IntVector even0 =
      hn::ShiftLeft<kConstBits>(Promote<kUpper>(hn::Add(in[0], in[4])));
  const IntVector even1 =
      hn::ShiftLeft<kConstBits>(Promote<kUpper>(hn::Sub(in[0], in[4])));
  const IntVector sum0 = hn::Add(even0, p.even3);
  const IntVector sum3 = hn::Sub(even0, p.even3);
  const IntVector sum1 = hn::Add(even1, p.even2);
  const IntVector sum2 = hn::Sub(even1, p.even2);
  out[0] = hn::Add(sum0, p.odd3);
  out[7] = hn::Sub(sum0, p.odd3);
  out[1] = hn::Add(sum1, p.odd2);
  out[6] = hn::Sub(sum1, p.odd2);
  out[2] = hn::Add(sum2, p.odd1);
  out[5] = hn::Sub(sum2, p.odd1);
  out[3] = hn::Add(sum3, p.odd0);
  out[4] = hn::Sub(sum3, p.odd0);
}

// Where a value does not fit into 16 bits, libjpeg-turbo truncates it on Arm
// and saturates it on x86.
HWY_INLINE ShortVector Narrow(IntVector low, IntVector high) {
#if HWY_ARCH_ARM
  return hn::ConcatEven(Shorts(), hn::BitCast(Shorts(), high),
                        hn::BitCast(Shorts(), low));
#else
  const hn::Half<Shorts> half;
  return hn::Combine(Shorts(), hn::DemoteTo(half, high),
                     hn::DemoteTo(half, low));
#endif
}

HWY_INLINE IntVector ScaleFirst(IntVector v) {
  constexpr int kShift = kConstBits - kPass1Bits;
  return hn::ShiftRight<kShift>(hn::Add(v, hn::Set(Ints(), 1 << (kShift - 1))));
}

HWY_INLINE IntVector ScaleSecond(IntVector v) {
  constexpr int kShift = kConstBits + kPass1Bits + 3;
#if HWY_ARCH_ARM
  return hn::ShiftRight<kShift - 16>(
      hn::Add(hn::ShiftRight<16>(v), hn::Set(Ints(), 1 << (kShift - 17))));
#else
  return hn::ShiftRight<kShift>(hn::Add(v, hn::Set(Ints(), 1 << (kShift - 1))));
#endif
}

// Three rounds of interleaving exchange rows and columns.
HWY_INLINE void Transpose(ShortVector* v) {
  for (int round = 0; round < 3; ++round) {
    ShortVector mixed[8];
    for (int i = 0; i < 4; ++i) {
      mixed[2 * i] = hn::InterleaveLower(Shorts(), v[i], v[i + 4]);
      mixed[2 * i + 1] = hn::InterleaveUpper(Shorts(), v[i], v[i + 4]);
    }
    for (int i = 0; i < 8; ++i) v[i] = mixed[i];
  }
}

// Whether all rows but the first are zero.
bool HasOnlyFirstRow(const int16_t* HWY_RESTRICT coefficients) {
  const Shorts shorts;
  ShortVector below = hn::Zero(shorts);
  for (int i = 1; i < 8; ++i) {
    below = hn::Or(below, hn::Load(shorts, coefficients + 8 * i));
  }
  return hn::AllTrue(shorts, hn::Eq(below, hn::Zero(shorts)));
}

void Idct(const int16_t* HWY_RESTRICT coefficients,
          const uint16_t* HWY_RESTRICT factors, uint8_t* HWY_RESTRICT out,
          size_t stride) {
  const Shorts shorts;
  const hn::FixedTag<uint16_t, 8> factor_tag;
  ShortVector v[8];
  for (int i = 0; i < 8; ++i) {
    v[i] = hn::Mul(hn::Load(shorts, coefficients + 8 * i),
                   hn::BitCast(shorts, hn::Load(factor_tag, factors + 8 * i)));
  }
  [[maybe_unused]] const ShortVector first = v[0];
  IntVector low[8];
  IntVector high[8];
  Butterfly<false>(v, low);
  Butterfly<true>(v, high);
  for (int i = 0; i < 8; ++i) {
    v[i] = Narrow(ScaleFirst(low[i]), ScaleFirst(high[i]));
  }
#if !HWY_ARCH_ARM
  // For a block of one row, libjpeg-turbo shifts on x86, which truncates where
  // the above saturates. Only damaged files have such values.
  const ShortVector shifted = hn::ShiftLeft<kPass1Bits>(first);
  const auto fits = hn::Eq(hn::ShiftRight<kPass1Bits>(shifted), first);
  if (HWY_UNLIKELY(!hn::AllTrue(shorts, fits)) &&
      HasOnlyFirstRow(coefficients)) {
    for (int i = 0; i < 8; ++i) v[i] = shifted;
  }
#endif
  Transpose(v);
  Butterfly<false>(v, low);
  Butterfly<true>(v, high);
  for (int i = 0; i < 8; ++i) {
    v[i] = Narrow(ScaleSecond(low[i]), ScaleSecond(high[i]));
  }
  Transpose(v);
  const hn::FixedTag<uint8_t, 8> bytes;
  const ShortVector middle = hn::Set(shorts, 128);
  for (int i = 0; i < 8; ++i) {
    hn::StoreU(hn::DemoteTo(bytes, hn::Add(v[i], middle)), bytes,
               out + i * stride);
  }
}

// Rows of samples to rows of RGB.

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
  // An edge is its own neighbor.
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
  // 1.402 and 1.772 times 2^14, of twice the color and a half of 2^15.
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

void GrayToRgb(const uint8_t* y, int width, uint8_t* rgb) {
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

HWY_EXPORT(Idct);
HWY_EXPORT(Widen);
HWY_EXPORT(Blend);
HWY_EXPORT(ToRgb);
HWY_EXPORT(GrayToRgb);

JpegIdct ChooseJpegIdct() {
  // Until the processor has been detected, the dispatcher returns a function
  // that detects it in every call. Keeping that function would mean one CPUID
  // per block, which a hypervisor takes microseconds to answer: 14 ms per
  // photograph instead of 1.
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return HWY_DYNAMIC_DISPATCH(Idct);
}

JpegRows ChooseJpegRows() {
  // Otherwise each call would detect the processor again: see ChooseJpegIdct.
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return {HWY_DYNAMIC_DISPATCH(Widen), HWY_DYNAMIC_DISPATCH(Blend),
          HWY_DYNAMIC_DISPATCH(ToRgb), HWY_DYNAMIC_DISPATCH(GrayToRgb)};
}

}  // namespace feedrate
#endif  // HWY_ONCE
