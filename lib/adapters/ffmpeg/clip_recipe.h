// From a video, or a decoded clip, to the tensor of a batch: decode, crop,
// transform, normalise.
#ifndef FEEDRATE_LIB_ADAPTERS_FFMPEG_CLIP_RECIPE_H_
#define FEEDRATE_LIB_ADAPTERS_FFMPEG_CLIP_RECIPE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/opencv/op.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/random.h"
#include "opencv2/core.hpp"

namespace feedrate {

// What one thread needs. Not thread-safe.
class ClipRecipe {
 public:
  // InvalidArgument names a parameter that is wrong. All outlive the result.
  static absl::StatusOr<std::unique_ptr<ClipRecipe>> Make(
      const TransformSpec& spec, const LoaderInput& input);

  int64_t items() const;
  // Frames of a clip.
  int frames() const;
  // Floats of an item: frames x channels x crop x crop.
  int64_t values() const;

  // Writes the tensor of `item`: TCHW. The same seed gives the same tensor,
  // and every frame the same crop and the same draw of the transform.
  // InvalidArgument when the file cannot be used.
  absl::Status Load(int64_t item, uint64_t seed, float* out);

 private:
  ClipRecipe(const TransformSpec& spec, const LoaderInput& input, Op op);
  // The frames of `item`, as headers over memory that lives until the next.
  absl::Status Decode(int64_t item);
  // Where the crop of all frames begins; frames that are too small grow first.
  cv::Rect DrawCrop(const cv::Size& size, Random* random) const;
  void Normalise(const cv::Mat& frame, float* out) const;

  const LoaderSpec& spec_;
  const LoaderInput& input_;
  const Op op_;
  std::vector<float> scale_;
  std::vector<float> offset_;
  std::vector<uint8_t> rgb_;
  std::vector<cv::Mat> frames_;
  cv::Mat padded_;
  cv::Mat cropped_;
  cv::Mat changed_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_FFMPEG_CLIP_RECIPE_H_
