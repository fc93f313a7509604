// OpenCV's own words in parameters, and parameters that many operations share.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_WORDS_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_WORDS_H_

#include "lib/adapters/worker/params.h"
#include "opencv2/core.hpp"

namespace feedrate {

// `interpolation=INTER_LINEAR`.
int ReadInterpolation(Params* params);

// `border_mode=BORDER_CONSTANT`; OpenCV's default when left out.
int ReadBorder(Params* params);

// How to fill what an operation finds outside the image.
struct Outside {
  int border = cv::BORDER_CONSTANT;
  cv::Scalar fill;
};
// `border_mode` and, where that is BORDER_CONSTANT, `fill`.
Outside ReadOutside(Params* params);

// `size=(height,width)`, both positive.
cv::Size ReadSize(Params* params);

// `ksize=(width,height)` or `ksize=5`: odd numbers.
cv::Size ReadKernelSize(Params* params);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_WORDS_H_
