#include "lib/media/jpeg_idct.h"

#include "lib/base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/media/jpeg_idct.cc"
// clang-format off
#include "hwy/foreach_target.h"  // Must come before highway.h.
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feedrate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Shorts = hn::FixedTag<int16_t, 8>;
using Ints = hn::FixedTag<int32_t, 4>;
using ShortVector = hn::Vec<Shorts>;
using IntVector = hn::Vec<Ints>;

constexpr int kConstBits = 13;
// Bits of the fraction that the first pass hands to the second.
constexpr int kPass1Bits = 2;

template <bool kUpper>
HWY_INLINE IntVector Widen(ShortVector v) {
  const hn::Half<Shorts> half;
  return hn::PromoteTo(
      Ints(), kUpper ? hn::UpperHalf(half, v) : hn::LowerHalf(half, v));
}

HWY_INLINE IntVector Times(IntVector v, int32_t factor) {
  return hn::Mul(v, hn::Set(Ints(), factor));
}

// Eight sums, not yet scaled down, for four of the eight columns. Where
// libjpeg-turbo adds in 16 bits so is it done here.
template <bool kUpper>
HWY_INLINE void Butterfly(const ShortVector* in, IntVector* out) {
  // Even part.
  const IntVector in2 = Widen<kUpper>(in[2]);
  const IntVector in6 = Widen<kUpper>(in[6]);
  const IntVector turned = Times(hn::Add(in2, in6), 4433);
  const IntVector even2 = hn::Add(turned, Times(in6, -15137));
  const IntVector even3 = hn::Add(turned, Times(in2, 6270));
  const IntVector even0 =
      hn::ShiftLeft<kConstBits>(Widen<kUpper>(hn::Add(in[0], in[4])));
  const IntVector even1 =
      hn::ShiftLeft<kConstBits>(Widen<kUpper>(hn::Sub(in[0], in[4])));
  const IntVector sum0 = hn::Add(even0, even3);
  const IntVector sum3 = hn::Sub(even0, even3);
  const IntVector sum1 = hn::Add(even1, even2);
  const IntVector sum2 = hn::Sub(even1, even2);

  // Odd part, in libjpeg's names.
  const IntVector in7 = Widen<kUpper>(in[7]);
  const IntVector in5 = Widen<kUpper>(in[5]);
  const IntVector in3 = Widen<kUpper>(in[3]);
  const IntVector in1 = Widen<kUpper>(in[1]);
  IntVector z3 = Widen<kUpper>(hn::Add(in[7], in[3]));
  IntVector z4 = Widen<kUpper>(hn::Add(in[5], in[1]));
  const IntVector z1 = Times(hn::Add(in7, in1), -7373);
  const IntVector z2 = Times(hn::Add(in5, in3), -20995);
  const IntVector z5 = Times(hn::Add(z3, z4), 9633);
  z3 = hn::Add(Times(z3, -16069), z5);
  z4 = hn::Add(Times(z4, -3196), z5);
  const IntVector odd0 = hn::Add(Times(in7, 2446), hn::Add(z1, z3));
  const IntVector odd1 = hn::Add(Times(in5, 16819), hn::Add(z2, z4));
  const IntVector odd2 = hn::Add(Times(in3, 25172), hn::Add(z2, z3));
  const IntVector odd3 = hn::Add(Times(in1, 12299), hn::Add(z1, z4));

  out[0] = hn::Add(sum0, odd3);
  out[7] = hn::Sub(sum0, odd3);
  out[1] = hn::Add(sum1, odd2);
  out[6] = hn::Sub(sum1, odd2);
  out[2] = hn::Add(sum2, odd1);
  out[5] = hn::Sub(sum2, odd1);
  out[3] = hn::Add(sum3, odd0);
  out[4] = hn::Sub(sum3, odd0);
}

// libjpeg-turbo cuts off what does not fit into 16 bits on Arm, and takes the
// nearest number on x86.
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
  IntVector low[8];
  IntVector high[8];
  Butterfly<false>(v, low);
  Butterfly<true>(v, high);
  for (int i = 0; i < 8; ++i) {
    v[i] = Narrow(ScaleFirst(low[i]), ScaleFirst(high[i]));
  }
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

}  // namespace HWY_NAMESPACE
}  // namespace feedrate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feedrate {

HWY_EXPORT(Idct);

JpegIdct ChooseJpegIdct() {
  // Until the processor has been looked at, the dispatcher hands out a function
  // that looks at it in every call. Kept, that is a CPUID for each block, which
  // a hypervisor takes microseconds to answer: 14 ms a photograph instead of 1.
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return HWY_DYNAMIC_DISPATCH(Idct);
}

}  // namespace feedrate
#endif  // HWY_ONCE
