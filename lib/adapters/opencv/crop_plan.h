// Where a crop cuts, known from the size of the image alone: who asks before
// decoding need not decode the rest.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_CROP_PLAN_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_CROP_PLAN_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "lib/adapters/opencv/op.h"
#include "opencv2/core.hpp"

namespace feedrate {

// A window of the image and what becomes of it. Thread-safe, but for `random`.
class CropPlan {
 public:
  virtual ~CropPlan() = default;

  // Draws the part of an image of this size that the crop needs.
  virtual cv::Rect Window(const cv::Size& image, Random* random) const = 0;

  // Makes the output, contiguous, of the pixels of that window.
  virtual void Finish(const cv::Mat& window, cv::Mat* out) const = 0;

  // Of every output. Empty when it is that of the window.
  virtual cv::Size size() const = 0;

  // Whether Finish may only copy and pad with a value.
  virtual bool resizes() const = 0;

  // What it pads with.
  virtual cv::Scalar fill() const { return {}; }
};

// A window of a fixed size; where the image is smaller, centred on the fill.
// Parameters: see cv::Mat(Rect)+cv::copyMakeBorder in crop.h.
std::unique_ptr<CropPlan> MakeFixedCrop(Params* params);

// A window of a drawn size and ratio, resized to a fixed size. Parameters: see
// cv::Mat(Rect)+cv::resize in crop.h.
std::unique_ptr<CropPlan> MakeResizedCrop(Params* params);

// The plan of the operation, or null when it is none of these two.
std::unique_ptr<CropPlan> MakeCropPlan(absl::string_view native_op,
                                       Params* params);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_CROP_PLAN_H_
