// Crops that are known from the size of the image alone, so that a caller can
// ask before decoding and need not decode the rest.
#pragma once

#include <memory>

#include "absl/strings/string_view.h"
#include "lib/ops/opencv/op.h"
#include "opencv2/core.hpp"

namespace feedrate {

// A window of the image, and how it becomes the output. Thread-safe, except for
// `random` and for Finish of MakeScaledCrop.
class CropPlan {
 public:
  virtual ~CropPlan() = default;

  // Draws the window that the crop needs of an image of this size.
  virtual cv::Rect Window(const cv::Size& image, Random* random) const = 0;

  // Writes the contiguous output from the pixels of that window.
  virtual void Finish(const cv::Mat& window, cv::Mat* out) const = 0;

  // Size of every output. Empty means the size of the window.
  virtual cv::Size size() const = 0;

  // False means that Finish only copies, and pads with `fill`.
  virtual bool resizes() const = 0;

  // The value that Finish pads with.
  virtual cv::Scalar fill() const { return {}; }
};

// Cuts a window of a fixed size, centered on the fill where the image is
// smaller. Parameters: see cv::Mat(Rect)+cv::copyMakeBorder in crop.cc.
std::unique_ptr<CropPlan> MakeFixedCrop(Params* params);

// Resizes the image until its shorter side is `side`, and cuts a window of
// `size` there, at random or in the center; of the image, only that window is
// resized, as by Pillow's BILINEAR. REQUIRES: size is not larger than `side`;
// images are RGB.
std::unique_ptr<CropPlan> MakeScaledCrop(int side, cv::Size size,
                                         bool at_random);

// The plan for a native_op that crops, or null for other operations.
std::unique_ptr<CropPlan> MakeCropPlan(absl::string_view native_op,
                                       Params* params);

}  // namespace feedrate
