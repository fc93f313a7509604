// Decode, augment and collate of one sample, on one thread: from the bytes of a
// file to the sample's place in the batch, while everything is in the cache.
#ifndef FEEDRATE_LIB_LOADER_SAMPLE_MAKER_H_
#define FEEDRATE_LIB_LOADER_SAMPLE_MAKER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/opencv/crop.h"
#include "lib/adapters/opencv/op.h"
#include "lib/loader/item_decoder.h"
#include "lib/loader/normalise.h"
#include "lib/loader/pixels.h"
#include "lib/loader/recipe.h"
#include "lib/loader/sample_shape.h"
#include "opencv2/core.hpp"

namespace feedrate {

// Time spent by stage, in nanoseconds.
struct SampleTimes {
  int64_t decode_ns = 0;
  int64_t augment_ns = 0;
  int64_t collate_ns = 0;
};

// A recipe made ready, with the scratch memory of one thread: after a few
// samples it allocates no more. Not thread-safe. OpenCV may throw.
class SampleMaker {
 public:
  // InvalidArgument names what of the recipe is not understood.
  static absl::StatusOr<std::unique_ptr<SampleMaker>> Create(
      const Recipe& recipe);

  const SampleShape& shape() const { return shape_; }

  // Makes the sample of an encoded item and writes it to `out`,
  // shape().values() floats. All draws come from `seed`. Errors are the item's.
  absl::Status FromBytes(absl::string_view bytes, uint64_t seed, float* out,
                         SampleTimes* times);
  // The same of decoded pixels.
  absl::Status FromPixels(const PixelView& image, uint64_t seed, float* out,
                          SampleTimes* times);
  // The same of the first item that this was called with, whatever the bytes:
  // what a loader would do if decoding cost nothing.
  absl::Status FromFirst(absl::string_view bytes, uint64_t seed, float* out,
                         SampleTimes* times);

 private:
  struct Step {
    std::vector<Op> one_of;
    double probability = 1;
    cv::Mat output;
  };

  explicit SampleMaker(const Recipe& recipe);
  absl::Status AddSteps();
  absl::Status MakeCrop();
  absl::Status FindShape();
  void Seed(uint64_t seed);
  DecodeWindow DrawWindow(int height, int width);
  int ShrinkFor(const DecodeWindow& window) const;
  cv::Mat Augment(const cv::Mat& window);
  absl::Status Finish(const PixelView& window, float* out, SampleTimes* times);

  Recipe recipe_;
  SampleShape shape_;
  Normalisation normalisation_;
  std::unique_ptr<CropPlan> crop_;
  std::vector<Step> steps_;
  // A flip at the end is done while normalising.
  bool mirror_ = false;
  bool upside_down_ = false;
  double flip_probability_ = 1;
  Random random_;
  ItemDecoder decoder_;
  cv::Mat first_;  // For FromFirst.
  cv::Mat repeated_;
  cv::Mat cropped_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_SAMPLE_MAKER_H_
