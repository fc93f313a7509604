// What is done to every item and batch, as data.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/ops/params.h"

namespace feedrate {

// One transform, or a choice of several with equal probability. Entries are
// those of configs/transforms/ for opencv: native_op, params, wrap.
struct RecipeStep {
  std::vector<TransformSpec> one_of;
  // Probability of the step.
  double probability = 1;
};

enum class CropPosition { kRandom, kCenter };

// Crop, then steps, then normalization to planes of floats.
struct Recipe {
  // Channels of the output. Images with fewer channels repeat them.
  int channels = 3;
  // Height of the crop, and width unless `crop_width` is above 0. Smaller
  // images are padded with zeros.
  int crop = 224;
  int crop_width = 0;
  int width() const { return crop_width > 0 ? crop_width : crop; }
  CropPosition position = CropPosition::kRandom;
  // The shorter side of the image is resized to it before the crop, which must
  // not be larger. 0: images stay as they are.
  int resize = 0;
  // The first step is a crop and replaces the one above.
  bool first_step_crops = false;
  std::vector<RecipeStep> steps;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  double input_scale = 255;
  // Decodes at 1/2, 1/4 or 1/8 size if a resizing crop reduces the image by
  // more than that. Faster, but the pixels are smoother than those of a full
  // decode and resize.
  bool scaled_decode = false;
  // Bytes are not normalized.
  SampleFormat format = SampleFormat::kFloatPlanes;
};

// The native_op of a recipe of several steps. Each param is a step; names begin
// with `step`:
//
//   step1=0.5 cv::flip{flip_code=1}
//   step2=cv::LUT{threshold=128} | cv::GaussianBlur{ksize=(5,5);sigma=2.0}
//
// Bars separate alternatives of equal probability; braces hold their
// parameters, separated by semicolons. The number in front is the probability
// of the step, 1 if omitted.
inline constexpr char kStepsOp[] = "feedrate::steps";

// Steps of `spec`: those of kStepsOp, or the one transform itself.
// InvalidArgument names the step that is not understood.
absl::StatusOr<std::vector<RecipeStep>> StepsOf(const TransformSpec& spec);

// Native operations of recipes whose only transform works on batches. The param
// `alpha=` is that of Beta(alpha, alpha), 1 if omitted.
inline constexpr char kMixupOp[] = "feedrate::mixup";
inline constexpr char kCutMixOp[] = "feedrate::cutmix";

inline bool IsMixOp(const std::string& native_op) {
  return native_op == kMixupOp || native_op == kCutMixOp;
}

// Mixing options of a mixing operation; none for another one. InvalidArgument
// names what is not understood.
absl::StatusOr<MixOptions> MixOptionsOf(const TransformSpec& spec);

}  // namespace feedrate
