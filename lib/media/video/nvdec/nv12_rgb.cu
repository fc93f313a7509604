
#include "lib/media/video/nvdec/nv12_rgb.h"

namespace feedrate {
namespace {

constexpr int kAcross = 32;
constexpr int kDown = 8;

// Words where every quad of the frame starts at one.
template <bool kWords>
__global__ void Nv12ToRgbKernel(Nv12Frame frame, uint8_t* rgb) {
  const int x = (blockIdx.x * kAcross + threadIdx.x) * kNv12Pixels;
  const int y = blockIdx.y * kDown + threadIdx.y;
  if (x >= frame.width || y >= frame.height) return;
  uint8_t quad[3 * kNv12Pixels];
  const int count = Nv12Quad(frame, x, y, quad);
  uint8_t* const out = rgb + 3 * (static_cast<int64_t>(y) * frame.width + x);
  if constexpr (kWords) {
    auto* const words = reinterpret_cast<uint32_t*>(out);
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      words[i] = quad[4 * i] | quad[4 * i + 1] << 8 | quad[4 * i + 2] << 16 |
                 static_cast<uint32_t>(quad[4 * i + 3]) << 24;
    }
  } else {
    for (int i = 0; i < 3 * count; ++i) out[i] = quad[i];
  }
}

}  // namespace

cudaError_t Nv12ToRgb(const Nv12Frame& frame, uint8_t* rgb,
                      cudaStream_t stream) {
  if (frame.width < 1 || frame.height < 1) return cudaErrorInvalidValue;
  const dim3 block(kAcross, kDown);
  const int quads = (frame.width + kNv12Pixels - 1) / kNv12Pixels;
  const dim3 grid((quads + kAcross - 1) / kAcross,
                  (frame.height + kDown - 1) / kDown);
  const bool words = frame.width % kNv12Pixels == 0 &&
                     reinterpret_cast<uintptr_t>(rgb) % sizeof(uint32_t) == 0;
  if (words) {
    Nv12ToRgbKernel<true><<<grid, block, 0, stream>>>(frame, rgb);
  } else {
    Nv12ToRgbKernel<false><<<grid, block, 0, stream>>>(frame, rgb);
  }
  return cudaGetLastError();
}

}  // namespace feedrate
