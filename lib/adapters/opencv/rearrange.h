// Operations that move whole pixels: flips, turns, padding, tiles.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_REARRANGE_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_REARRANGE_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::flip                flip_code
// cv::transpose
// cv::rotate              times=uniform(0,3) or a number: quarter turns
//                         counter-clockwise; none is a copy
// cv::copyMakeBorder      padding, border_mode, fill
// cv::Mat(Rect)::copyTo   grid=(rows,columns); order=(...) where not random
const OpTable& RearrangeOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_REARRANGE_H_
