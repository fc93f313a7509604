// Decoded frames of an episode that one of its later pairs needs again.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_KEPT_FRAMES_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_KEPT_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace feedrate {

// A copy is some fifteen times cheaper than decoding, but takes memory while it
// waits: a few are kept at most, and what finds no room is decoded again. All
// frames are of one size. Thread-safe.
class KeptFrames {
 public:
  static constexpr size_t kMost = 4;

  // Copies `bytes` of `frame`, unless there are enough.
  void Keep(int step, const uint8_t* frame, size_t bytes);
  // Copies the frame to `out` and forgets it: a frame is in two pairs at most.
  // False when it is not there.
  bool Take(int step, size_t bytes, uint8_t* out);

 private:
  struct Frame {
    int step;
    std::unique_ptr<uint8_t[]> pixels;
  };
  std::mutex mutex_;
  std::vector<Frame> frames_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_KEPT_FRAMES_H_
