#include "lib/adapters/opencv/words.h"

#include <cmath>
#include <vector>

#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

bool IsOdd(double value) { return value > 0 && std::fmod(value, 2) == 1; }

}  // namespace

int ReadInterpolation(Params* params) {
  return params->Word("interpolation",
                      {{"INTER_NEAREST", cv::INTER_NEAREST},
                       {"INTER_LINEAR", cv::INTER_LINEAR},
                       {"INTER_CUBIC", cv::INTER_CUBIC},
                       {"INTER_AREA", cv::INTER_AREA},
                       {"INTER_LANCZOS4", cv::INTER_LANCZOS4},
                       {"INTER_LINEAR_EXACT", cv::INTER_LINEAR_EXACT},
                       {"INTER_NEAREST_EXACT", cv::INTER_NEAREST_EXACT}});
}

int ReadBorder(Params* params) {
  if (!params->Has("border_mode")) return cv::BORDER_DEFAULT;
  return params->Word("border_mode",
                      {{"BORDER_CONSTANT", cv::BORDER_CONSTANT},
                       {"BORDER_REPLICATE", cv::BORDER_REPLICATE},
                       {"BORDER_REFLECT", cv::BORDER_REFLECT},
                       {"BORDER_WRAP", cv::BORDER_WRAP},
                       {"BORDER_REFLECT_101", cv::BORDER_REFLECT_101}});
}

Outside ReadOutside(Params* params) {
  Outside outside;
  outside.border = ReadBorder(params);
  if (outside.border == cv::BORDER_CONSTANT) {
    outside.fill = cv::Scalar::all(params->Number("fill"));
  }
  return outside;
}

cv::Size ReadSize(Params* params) {
  const std::vector<double> size = params->Tuple("size", 2);
  if (!(size[0] >= 1 && size[1] >= 1)) {
    params->Fail("size", "must be positive");
  }
  return cv::Size(cvRound(size[1]), cvRound(size[0]));
}

cv::Size ReadKernelSize(Params* params) {
  const bool tuple = params->IsTuple("ksize");
  std::vector<double> size =
      tuple ? params->Tuple("ksize", 2)
            : std::vector<double>(2, params->Number("ksize"));
  if (!IsOdd(size[0]) || !IsOdd(size[1])) {
    params->Fail("ksize", "must be odd");
    size = {1, 1};
  }
  return cv::Size(cvRound(size[0]), cvRound(size[1]));
}

}  // namespace feedrate
