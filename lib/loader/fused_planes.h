// Last pass over an image: bytes, channels side by side, become planes of
// normalised floats, mirrored on request, in one reading and one writing.
//
// Vectors of whatever width the processor has (Highway, chosen at run time).
// Three channels and nine are the fast ones; one, two and four nearly so.
#ifndef FEEDRATE_LIB_LOADER_FUSED_PLANES_H_
#define FEEDRATE_LIB_LOADER_FUSED_PLANES_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// 8-bit HWC in rows `stride` bytes apart, which may be below zero.
struct PlanesInput {
  const uint8_t* data = nullptr;
  ptrdiff_t stride = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
};

// Writes `channels` planes of height x width floats, one after the other, to
// `out`: value * scale[c] + offset[c], with one rounding where the processor
// multiplies and adds in one step, so that the last bit may differ between
// kinds of processors. Column x goes to width - 1 - x when `mirror`ed.
void PixelsToPlanes(const PlanesInput& image, bool mirror, const float* scale,
                    const float* offset, float* out);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_FUSED_PLANES_H_
