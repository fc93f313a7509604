// Operations that bend the image by a map of their own.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_DISTORT_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_DISTORT_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// Both keep the size and take interpolation, border_mode and fill. The map is
// made in every call, since it depends on the draw and on the image's size.
//
// cv::remap                             distort: a point at r half diagonals
//                                       from the middle is read at
//                                       r * (1 + distort * r * r)
// cv::randn+cv::GaussianBlur+cv::remap  alpha, sigma, ksize=(0,0) for as large
//                                       as sigma needs, same_dxdy
const OpTable& DistortOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_DISTORT_H_
