#include "lib/loader/sample/fused_planes.h"

#include <algorithm>
#include <vector>

#include "lib/base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/loader/sample/fused_planes.cc"
// clang-format off
#include "hwy/foreach_target.h"  // Must come before highway.h.
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feedrate {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Nine channels are separated in pieces that stay in the L1 cache.
constexpr int kPiece = 256;

// One channel: how it is normalized, and where the row goes.
struct Plane {
  float scale;
  float offset;
  float* out;
};

const hn::ScalableTag<uint8_t> kBytes;
const hn::ScalableTag<float> kFloats;
constexpr int kStep =
    static_cast<int>(hn::MaxLanes(hn::ScalableTag<uint8_t>()));

// A plane in registers: the compiler cannot know that writing floats does not
// change the factors in memory.
struct LoadedPlane {
  explicit LoadedPlane(const Plane& plane)
      : scale(hn::Set(kFloats, plane.scale)),
        offset(hn::Set(kFloats, plane.offset)),
        out(plane.out) {}
  hn::Vec<decltype(kFloats)> scale;
  hn::Vec<decltype(kFloats)> offset;
  float* out;
};

// Writes half of a vector of bytes, widened, to `out`.
template <class Shorts>
HWY_INLINE void StoreHalf(Shorts shorts, const LoadedPlane& plane, float* out) {
  const hn::RebindToSigned<hn::RebindToUnsigned<decltype(kFloats)>> ints;
  const hn::Half<hn::Repartition<uint16_t, decltype(kBytes)>> half;
  const auto low = hn::PromoteTo(ints, hn::LowerHalf(half, shorts));
  const auto high = hn::PromoteTo(ints, hn::UpperHalf(half, shorts));
  hn::StoreU(hn::MulAdd(hn::ConvertTo(kFloats, low), plane.scale, plane.offset),
             kFloats, out);
  hn::StoreU(
      hn::MulAdd(hn::ConvertTo(kFloats, high), plane.scale, plane.offset),
      kFloats, out + kStep / 4);
}

template <class Bytes>
HWY_INLINE Bytes Reversed(Bytes bytes) {
  alignas(16) static constexpr uint8_t kBackwards[16] = {
      15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  return hn::ReverseBlocks(
      kBytes, hn::TableLookupBytes(bytes, hn::LoadDup128(kBytes, kBackwards)));
}

// Writes kStep values of one channel to columns [x, x + kStep), or to their
// mirror images.
template <bool kMirror, class Bytes>
HWY_INLINE void StoreFloats(Bytes bytes, int x, int width,
                            const LoadedPlane& plane) {
  const hn::Repartition<uint16_t, decltype(kBytes)> shorts;
  const hn::Half<decltype(kBytes)> half;
  if (kMirror) bytes = Reversed(bytes);
  float* const out = plane.out + (kMirror ? width - x - kStep : x);
  StoreHalf(hn::PromoteTo(shorts, hn::LowerHalf(half, bytes)), plane, out);
  StoreHalf(hn::PromoteTo(shorts, hn::UpperHalf(half, bytes)), plane,
            out + kStep / 2);
}

template <bool kMirror, int kChannels>
HWY_INLINE void Step(const uint8_t* in, int x, int width, const LoadedPlane& p0,
                     const LoadedPlane& p1, const LoadedPlane& p2,
                     const LoadedPlane& p3) {
  hn::Vec<decltype(kBytes)> v0, v1, v2, v3;
  in += x * kChannels;
  if (kChannels == 1) v0 = hn::LoadU(kBytes, in);
  if (kChannels == 2) hn::LoadInterleaved2(kBytes, in, v0, v1);
  if (kChannels == 3) hn::LoadInterleaved3(kBytes, in, v0, v1, v2);
  if (kChannels == 4) hn::LoadInterleaved4(kBytes, in, v0, v1, v2, v3);
  StoreFloats<kMirror>(v0, x, width, p0);
  if (kChannels > 1) StoreFloats<kMirror>(v1, x, width, p1);
  if (kChannels > 2) StoreFloats<kMirror>(v2, x, width, p2);
  if (kChannels > 3) StoreFloats<kMirror>(v3, x, width, p3);
}

void RowByOne(const uint8_t* in, int width, int channels, bool mirror,
              const Plane* planes) {
  const hn::CappedTag<float, 1> one;
  for (int c = 0; c < channels; ++c) {
    const Plane& plane = planes[c];
    const auto scale = hn::Set(one, plane.scale);
    const auto offset = hn::Set(one, plane.offset);
    for (int x = 0; x < width; ++x) {
      // Rounds like the vectors, so that results are the same for any width.
      const auto value = hn::Set(one, static_cast<float>(in[x * channels + c]));
      plane.out[mirror ? width - 1 - x : x] =
          hn::GetLane(hn::MulAdd(value, scale, offset));
    }
  }
}

template <bool kMirror, int kChannels>
void Row(const uint8_t* in, int width, const Plane* planes) {
  if (width < kStep) {
    RowByOne(in, width, kChannels, kMirror, planes);
    return;
  }
  const LoadedPlane p0(planes[0]);
  const LoadedPlane p1(planes[kChannels > 1 ? 1 : 0]);
  const LoadedPlane p2(planes[kChannels > 2 ? 2 : 0]);
  const LoadedPlane p3(planes[kChannels > 3 ? 3 : 0]);
  // Written from left to right even if mirrored: writing backwards is slow. The
  // remainder is covered by doing some columns twice.
  const int last = width - kStep;
  for (int to = 0; to <= last; to += kStep) {
    Step<kMirror, kChannels>(in, kMirror ? last - to : to, width, p0, p1, p2,
                             p3);
  }
  if (width % kStep != 0) {
    Step<kMirror, kChannels>(in, kMirror ? 0 : last, width, p0, p1, p2, p3);
  }
}

// Separates 3 * count bytes into three channels.
void TakeApart(const uint8_t* in, int count, uint8_t* out0, uint8_t* out1,
               uint8_t* out2) {
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    hn::Vec<decltype(kBytes)> v0, v1, v2;
    hn::LoadInterleaved3(kBytes, in + 3 * i, v0, v1, v2);
    hn::StoreU(v0, kBytes, out0 + i);
    hn::StoreU(v1, kBytes, out1 + i);
    hn::StoreU(v2, kBytes, out2 + i);
  }
  for (; i < count; ++i) {
    out0[i] = in[3 * i];
    out1[i] = in[3 * i + 1];
    out2[i] = in[3 * i + 2];
  }
}

// Nine channels are three times three: separated twice.
template <bool kMirror>
void RowOfNine(const uint8_t* in, int width, const Plane* planes) {
  uint8_t parts[3][3 * kPiece];
  for (int x = 0; x < width; x += kPiece) {
    const int count = std::min(kPiece, width - x);
    TakeApart(in + 9 * x, 3 * count, parts[0], parts[1], parts[2]);
    for (int part = 0; part < 3; ++part) {
      Plane three[3];
      for (int i = 0; i < 3; ++i) {
        three[i] = planes[3 * i + part];
        three[i].out += kMirror ? width - x - count : x;
      }
      Row<kMirror, 3>(parts[part], count, three);
    }
  }
}

template <bool kMirror>
void AnyRow(const uint8_t* in, int width, int channels, const Plane* planes) {
  switch (channels) {
    case 1:
      return Row<kMirror, 1>(in, width, planes);
    case 2:
      return Row<kMirror, 2>(in, width, planes);
    case 3:
      return Row<kMirror, 3>(in, width, planes);
    case 4:
      return Row<kMirror, 4>(in, width, planes);
    case 9:
      return RowOfNine<kMirror>(in, width, planes);
    default:
      return RowByOne(in, width, channels, kMirror, planes);
  }
}

// `planes` has room for one per channel.
void AllRows(const PlanesInput& image, bool mirror, const float* scale,
             const float* offset, float* out, Plane* planes) {
  const size_t plane_size = static_cast<size_t>(image.height) * image.width;
  for (int c = 0; c < image.channels; ++c) {
    planes[c] = {scale[c], offset[c], out + c * plane_size};
  }
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const in = image.data + y * image.stride;
    if (mirror) {
      AnyRow<true>(in, image.width, image.channels, planes);
    } else {
      AnyRow<false>(in, image.width, image.channels, planes);
    }
    for (int c = 0; c < image.channels; ++c) planes[c].out += image.width;
  }
}

void PixelsToPlanes(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, float* out) {
  constexpr int kUsual = 16;
  if (image.channels <= kUsual) {
    Plane planes[kUsual];
    AllRows(image, mirror, scale, offset, out, planes);
  } else {
    std::vector<Plane> planes(image.channels);
    AllRows(image, mirror, scale, offset, out, planes.data());
  }
}

// Three channels of bytes, kStep pixels from `in` to `out` and two others.
template <bool kMirror>
HWY_INLINE void SplitStep(const uint8_t* in, uint8_t* out, size_t plane) {
  hn::Vec<decltype(kBytes)> v0, v1, v2;
  hn::LoadInterleaved3(kBytes, in, v0, v1, v2);
  hn::StoreU(kMirror ? Reversed(v0) : v0, kBytes, out);
  hn::StoreU(kMirror ? Reversed(v1) : v1, kBytes, out + plane);
  hn::StoreU(kMirror ? Reversed(v2) : v2, kBytes, out + 2 * plane);
}

template <bool kMirror>
void SplitRow(const uint8_t* in, int width, int channels, uint8_t* out,
              size_t plane) {
  const int last = width - kStep;
  if (channels == 3 && last >= 0) {
    for (int to = 0; to <= last; to += kStep) {
      SplitStep<kMirror>(in + 3 * (kMirror ? last - to : to), out + to, plane);
    }
    // Some columns twice, as in Row.
    SplitStep<kMirror>(in + 3 * (kMirror ? 0 : last), out + last, plane);
    return;
  }
  for (int x = 0; x < width; ++x) {
    uint8_t* const to = out + (kMirror ? width - 1 - x : x);
    for (int c = 0; c < channels; ++c) to[c * plane] = in[x * channels + c];
  }
}

HWY_INLINE void MirrorStep(const uint8_t* in, uint8_t* out) {
  hn::Vec<decltype(kBytes)> v0, v1, v2;
  hn::LoadInterleaved3(kBytes, in, v0, v1, v2);
  hn::StoreInterleaved3(Reversed(v0), Reversed(v1), Reversed(v2), kBytes, out);
}

// Pixels of a row with `from` channels, which repeat until there are
// `channels`.
void PixelRow(const uint8_t* in, int width, int from, bool mirror, int channels,
              uint8_t* out) {
  if (!mirror && from == channels) {
    std::copy_n(in, width * channels, out);
    return;
  }
  const int last = width - kStep;
  if (from == 3 && channels == 3 && last >= 0) {
    for (int to = 0; to <= last; to += kStep) {
      MirrorStep(in + 3 * (last - to), out + 3 * to);
    }
    MirrorStep(in, out + 3 * last);
    return;
  }
  for (int x = 0; x < width; ++x) {
    const uint8_t* const pixel = in + (mirror ? width - 1 - x : x) * from;
    for (int c = 0; c < channels; c += from) {
      out = std::copy_n(pixel, from, out);
    }
  }
}

// Factors of interleaved values. They repeat after `channels` vectors.
struct Pattern {
  static constexpr int kMost = kMostPixelChannels;
  static constexpr int kLanes =
      static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  Pattern(const float* scales, const float* offsets, int channels)
      : size(channels * kLanes) {
    for (int i = 0; i < size; ++i) {
      scale[i] = scales[i % channels];
      offset[i] = offsets[i % channels];
    }
  }
  int size;
  float scale[kMost * kLanes];
  float offset[kMost * kLanes];
};

// Values of whole pixels.
void NormalizeRow(const uint8_t* in, int count, const Pattern& pattern,
                  float* out) {
  const hn::Rebind<uint8_t, decltype(kFloats)> bytes;
  const hn::RebindToSigned<hn::RebindToUnsigned<decltype(kFloats)>> ints;
  int i = 0;
  int at = 0;
  for (; i + Pattern::kLanes <= count; i += Pattern::kLanes) {
    const auto values =
        hn::ConvertTo(kFloats, hn::PromoteTo(ints, hn::LoadU(bytes, in + i)));
    hn::StoreU(hn::MulAdd(values, hn::LoadU(kFloats, pattern.scale + at),
                          hn::LoadU(kFloats, pattern.offset + at)),
               kFloats, out + i);
    at += Pattern::kLanes;
    if (at == pattern.size) at = 0;
  }
  // Rounds like the vectors.
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i, ++at) {
    const auto value = hn::Set(one, static_cast<float>(in[i]));
    out[i] = hn::GetLane(hn::MulAdd(value, hn::Set(one, pattern.scale[at]),
                                    hn::Set(one, pattern.offset[at])));
  }
}

void PixelsToPixels(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, int channels, float* out) {
  const Pattern pattern(scale, offset, channels);
  uint8_t piece[kPiece * Pattern::kMost];
  const int width = image.width;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const in = image.data + y * image.stride;
    for (int x = 0; x < width; x += kPiece) {
      const int count = std::min(kPiece, width - x);
      PixelRow(in + (mirror ? width - x - count : x) * image.channels, count,
               image.channels, mirror, channels, piece);
      NormalizeRow(piece, count * channels, pattern, out);
      out += count * channels;
    }
  }
}

void CopyToPlanes(const PlanesInput& image, bool mirror, int channels,
                  uint8_t* out) {
  const size_t plane = static_cast<size_t>(image.height) * image.width;
  for (int c = 0; c < channels; c += image.channels) {
    for (int y = 0; y < image.height; ++y) {
      const uint8_t* const in = image.data + y * image.stride;
      uint8_t* const row = out + c * plane + y * image.width;
      if (mirror) {
        SplitRow<true>(in, image.width, image.channels, row, plane);
      } else {
        SplitRow<false>(in, image.width, image.channels, row, plane);
      }
    }
  }
}

void CopyToPixels(const PlanesInput& image, bool mirror, int channels,
                  uint8_t* out) {
  for (int y = 0; y < image.height; ++y) {
    PixelRow(image.data + y * image.stride, image.width, image.channels, mirror,
             channels, out);
    out += static_cast<size_t>(image.width) * channels;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace feedrate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feedrate {

HWY_EXPORT(PixelsToPlanes);

void PixelsToPlanes(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, float* out) {
  HWY_DYNAMIC_DISPATCH(PixelsToPlanes)(image, mirror, scale, offset, out);
}

HWY_EXPORT(PixelsToPixels);

void PixelsToPixels(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, int channels, float* out) {
  HWY_DYNAMIC_DISPATCH(PixelsToPixels)
  (image, mirror, scale, offset, channels, out);
}

HWY_EXPORT(CopyToPlanes);

void CopyToPlanes(const PlanesInput& image, bool mirror, int channels,
                  uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(CopyToPlanes)(image, mirror, channels, out);
}

HWY_EXPORT(CopyToPixels);

void CopyToPixels(const PlanesInput& image, bool mirror, int channels,
                  uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(CopyToPixels)(image, mirror, channels, out);
}

}  // namespace feedrate
#endif  // HWY_ONCE
