// Operations on each value by itself, or by what its channel holds.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_TONE_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_TONE_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::bitwise_not
// cv::LUT                             bits (posterise), threshold (solarise:
//                                     values from it on invert) or gamma
// cv::Mat::convertTo                  alpha, beta
// cv::minMaxLoc+cv::LUT               cutoff=0: each channel stretched
// cv::split+cv::equalizeHist+cv::merge  by_channels=True
const OpTable& ToneOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_TONE_H_
