#include "lib/adapters/opencv/crop.h"

#include <algorithm>
#include <memory>

#include "lib/adapters/opencv/crop_plan.h"
#include "lib/adapters/opencv/words.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

Op ResizeTo(cv::Size size, int interpolation) {
  return [size, interpolation](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::resize(in, *out, size, 0, 0, interpolation);
  };
}

Op ResizeSide(int side, bool longest, int interpolation) {
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    const int from =
        longest ? std::max(in.rows, in.cols) : std::min(in.rows, in.cols);
    const auto scaled = [side, from](int64_t length) {
      return static_cast<int>(std::max<int64_t>(1, length * side / from));
    };
    cv::resize(in, *out, cv::Size(scaled(in.cols), scaled(in.rows)), 0, 0,
               interpolation);
  };
}

Op Resize(Params* params) {
  const int interpolation = ReadInterpolation(params);
  if (!params->Has("max_size")) {
    return ResizeTo(ReadSize(params), interpolation);
  }
  const int side = params->Integer("max_size");
  if (side < 1) params->Fail("max_size", "must be positive");
  const bool longest =
      params->Word("side", {{"shortest", 0}, {"longest", 1}}) == 1;
  return ResizeSide(side, longest, interpolation);
}

// Any plan as an operation on a whole image.
Op AsOp(std::shared_ptr<const CropPlan> plan) {
  return [plan](const cv::Mat& in, Random* random, cv::Mat* out) {
    plan->Finish(in(plan->Window(in.size(), random)), out);
  };
}

Op FixedCrop(Params* params) { return AsOp(MakeFixedCrop(params)); }
Op ResizedCrop(Params* params) { return AsOp(MakeResizedCrop(params)); }

}  // namespace

const OpTable& CropOps() {
  static const auto* const ops = new OpTable{
      {"cv::resize", Resize},
      {"cv::Mat(Rect)+cv::copyMakeBorder", FixedCrop},
      {"cv::Mat(Rect)+cv::resize", ResizedCrop},
  };
  return *ops;
}

}  // namespace feedrate
