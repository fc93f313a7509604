// What is done to every item, as data.
#ifndef FEEDRATE_LIB_LOADER_RECIPE_H_
#define FEEDRATE_LIB_LOADER_RECIPE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// One transform, or one of several, each as likely. The entries are those of
// configs/transforms/ for opencv: native_op, params, wrap.
struct RecipeStep {
  std::vector<TransformSpec> one_of;
  // How often the step is done at all.
  double probability = 1;
};

enum class CropPosition { kRandom, kCentre };

// Crop, steps, normalisation, to planes of floats.
struct Recipe {
  // Of the output. An image of fewer channels repeats them.
  int channels = 3;
  // Height and width of the crop; smaller images are padded with zeros.
  int crop = 224;
  CropPosition position = CropPosition::kRandom;
  // The first step is a crop and takes the place of the one above.
  bool first_step_crops = false;
  std::vector<RecipeStep> steps;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  double input_scale = 255;
  // Decode at half, quarter or eighth size where a crop that resizes throws
  // more than that away. Faster, and smoother than the resize alone: other
  // pixels than those of the full decode.
  bool scaled_decode = false;
};

// The native_op of a recipe of several steps. Its params are one each, in their
// order, by any names that begin with `step`:
//
//   step1=0.5 cv::flip{flip_code=1}
//   step2=cv::LUT{threshold=128} | cv::GaussianBlur{ksize=(5,5);sigma=2.0}
//
// alternatives between bars, each as likely, with their parameters in braces
// between semicolons; before them how often the step is done, 1 if left out.
inline constexpr char kStepsOp[] = "feedrate::steps";

// The steps that `spec` means: those of kStepsOp, or the one transform itself.
// InvalidArgument names the step that is not understood.
absl::StatusOr<std::vector<RecipeStep>> StepsOf(const TransformSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_RECIPE_H_
