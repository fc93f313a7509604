// Makes one sample on one thread: decodes, augments, and writes it to its place
// in the batch, while the data is in the CPU cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/batch.h"
#include "lib/loader/recipe.h"
#include "lib/loader/sample/item_decoder.h"
#include "lib/loader/source.h"
#include "lib/ops/opencv/crop.h"
#include "lib/ops/opencv/op.h"
#include "opencv2/core.hpp"

namespace feedrate {

// Normalization: value * scale[c] + offset[c] for output channel c.
struct Normalization {
  std::vector<float> scale;
  std::vector<float> offset;
  int channels() const { return static_cast<int>(scale.size()); }
};

// (value / input_scale - mean) / std. Mean and std repeat until there are
// `channels` of them. REQUIRES: both have the same size, which is not 0.
Normalization MakeNormalization(const std::vector<double>& mean,
                                const std::vector<double>& std,
                                double input_scale, int channels);

// Last step of every recipe: converts 8-bit HWC to normalized float planes in
// one pass. Writes one plane per channel to `out`, without gaps, mirrored left
// to right if `mirror`. If the image has fewer channels than `how`, they
// repeat. REQUIRES: the image's channels divide those of `how`.
void NormalizeToPlanes(const PixelView& image, bool mirror,
                       const Normalization& how, float* out);

// The same, with the channels of each pixel side by side.
void NormalizeToPixels(const PixelView& image, bool mirror,
                       const Normalization& how, float* out);

// Time per stage, in nanoseconds.
struct SampleTimes {
  int64_t decode_ns = 0;
  int64_t augment_ns = 0;
  int64_t collate_ns = 0;
};

// A recipe ready to run, with the scratch memory of one thread. Allocates
// nothing more after a few samples. Not thread-safe. OpenCV may throw.
class SampleMaker {
 public:
  // InvalidArgument names the part of the recipe that is not understood.
  static absl::StatusOr<std::unique_ptr<SampleMaker>> Create(
      const Recipe& recipe);

  const SampleShape& shape() const { return shape_; }

  // Makes the sample of an encoded item and writes shape().bytes() bytes to
  // `out`. All draws come from `seed`. Errors are faults of the item.
  // `entries` are those of a JPEG, or empty: see JpegIndex. With `is_part`,
  // only what this sample needs of the file is there: see JpegPart.
  absl::Status FromBytes(absl::string_view bytes, absl::string_view entries,
                         uint64_t seed, void* out, SampleTimes* times,
                         bool is_part = false);
  // The entries of the item that FromBytes was called with last, and where in
  // it the codes begin: see JpegRegionDecoder.
  std::string FindEntries() { return decoder_.FindEntries(); }
  // Threads for one large JPEG with entries.
  void set_threads(int threads) { decoder_.set_threads(threads); }
  size_t codes_at() const { return decoder_.codes_at(); }
  // Same, from decoded pixels.
  absl::Status FromPixels(const PixelView& image, uint64_t seed, void* out,
                          SampleTimes* times);
  // Same, from the window of an image of that size which WindowOf returns: for
  // who need not decode the rest. The same seed gives all frames of a video the
  // same draws.
  DecodeWindow WindowOf(int height, int width, uint64_t seed);
  absl::Status FromWindow(const PixelView& window, int height, int width,
                          uint64_t seed, void* out, SampleTimes* times);
  // Same, but always with the pixels of the first item it was called with: what
  // a loader could do if decoding cost nothing.
  absl::Status FromFirst(absl::string_view bytes, uint64_t seed, void* out,
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
  void Write(const PixelView& sample, bool mirror, void* out) const;
  absl::Status Finish(const PixelView& window, void* out, SampleTimes* times);

  Recipe recipe_;
  SampleShape shape_;
  Normalization normalization_;
  std::unique_ptr<CropPlan> crop_;
  std::vector<Step> steps_;
  // A flip at the end is done during normalization.
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
