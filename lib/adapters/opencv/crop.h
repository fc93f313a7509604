// Operations that cut out and resize.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_CROP_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_CROP_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::resize                        size=(height,width), or max_size with
//                                   side=longest|shortest, which keeps the
//                                   aspect and rounds the other side down;
//                                   interpolation
// cv::Mat(Rect)+cv::copyMakeBorder  size; position=uniform or (top,left), the
//                                   middle when left out; pad_if_needed, fill
// cv::Mat(Rect)+cv::resize          size, scale, ratio, tries, interpolation;
//                                   fallback=center
const OpTable& CropOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_CROP_H_
