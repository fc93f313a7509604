// Operations that add noise or take pixels away.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_NOISE_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_NOISE_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::randn+cv::add         mean, std: drawn for each value, saturating
// cv::randu+cv::Mat::setTo  amount, salt_vs_pepper: whole pixels
// cv::Mat(Rect)::setTo      scale, ratio, tries; or rect=(top,left,height,
//                           width); fill. Works on a copy, which stays as it
//                           is when no draw fits
const OpTable& NoiseOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_NOISE_H_
