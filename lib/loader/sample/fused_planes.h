// Last pass over an image: interleaved bytes become what the batch holds
// (planes or pixels, normalized floats or bytes), optionally mirrored, with one
// read and one write.
//
// Vectorized with Highway, which selects the instruction set at run time. Three
// and nine channels are fastest; one, two and four are nearly as fast.
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedrate {

// 8-bit HWC in rows `stride` bytes apart. The stride may be negative.
struct PlanesInput {
  const uint8_t* data = nullptr;
  ptrdiff_t stride = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
};

// Writes `channels` planes of height x width floats to `out`: value * scale[c]
// + offset[c]. The result is rounded once where the processor has fused
// multiply-add, so the last bit may differ between processors. With `mirror`,
// column x goes to width - 1 - x.
void PixelsToPlanes(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, float* out);

// The same values with the channels of each pixel side by side. The image's
// channels repeat until there are `channels`, a multiple of them. REQUIRES:
// channels <= kMostPixelChannels.
inline constexpr int kMostPixelChannels = 16;
void PixelsToPixels(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, int channels, float* out);

// Both for bytes as they are.
void CopyToPlanes(const PlanesInput& image, bool mirror, int channels,
                  uint8_t* out);
void CopyToPixels(const PlanesInput& image, bool mirror, int channels,
                  uint8_t* out);

}  // namespace feedrate
