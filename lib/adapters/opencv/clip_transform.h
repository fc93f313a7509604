// An OpenCV operation on clips: every frame by itself, all of them with one
// draw of parameters.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_CLIP_TRANSFORM_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_CLIP_TRANSFORM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/opencv/op.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/random.h"
#include "lib/media/corpus.h"
#include "opencv2/core.hpp"

namespace feedrate {

// The output is one block, frame after frame. Not thread-safe.
class ClipTransform : public PreparedTransform {
 public:
  // REQUIRES: a corpus of uint8 HWC, which outlives this.
  ClipTransform(Op op, const Corpus& corpus);

  void Seed(uint64_t seed) override { random_ = Random(seed); }
  void Run(int64_t item) override;
  absl::StatusOr<Output> RunForOutput(int64_t item) override;

 private:
  // One clip's frames, as headers over the corpus.
  using Frames = std::vector<cv::Mat>;

  // Writes frame i of the output, whose first frame makes the room.
  void Place(size_t i, size_t frames, const cv::Mat& result);

  Op op_;
  Random random_;
  std::vector<Frames> inputs_;
  // All frames, one below the other.
  cv::Mat clip_;
  int frame_rows_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_CLIP_TRANSFORM_H_
