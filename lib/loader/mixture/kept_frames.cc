#include "lib/loader/mixture/kept_frames.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace feedrate {

void KeptFrames::Keep(int step, const uint8_t* frame, size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (frames_.size() >= kMost) return;
  }
  // Not initialised, and not under the lock: all of it is copied.
  std::unique_ptr<uint8_t[]> pixels(new uint8_t[bytes]);
  std::memcpy(pixels.get(), frame, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (frames_.size() < kMost) frames_.push_back({step, std::move(pixels)});
}

bool KeptFrames::Take(int step, size_t bytes, uint8_t* out) {
  std::unique_ptr<uint8_t[]> pixels;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(frames_.begin(), frames_.end(),
                     [step](const Frame& frame) { return frame.step == step; });
    if (found == frames_.end()) return false;
    pixels = std::move(found->pixels);
    frames_.erase(found);
  }
  std::memcpy(out, pixels.get(), bytes);
  return true;
}

}  // namespace feedrate
