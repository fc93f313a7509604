// Operations over a neighbourhood: blurs and sharpening.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_FILTER_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_FILTER_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// border_mode is OpenCV's default where it is left out.
//
// cv::blur                          ksize, border_mode
// cv::GaussianBlur                  ksize, sigma, border_mode
// cv::medianBlur                    ksize
// cv::filter2D                      kernel=(nine numbers), scale; or
//                                   alpha, lightness, ksize=(3,3): see Sharpen;
//                                   or angle, direction, ksize: see MotionBlur
// cv::GaussianBlur+cv::addWeighted  ksize=uniform{3,5,7} or one, sigma, alpha,
//                                   threshold: adds alpha * (image - blurred)
//                                   where that difference is above threshold
// cv::filter2D+cv::addWeighted      kernel, scale, factor: away from the
//                                   filtered image; outermost pixels stay
const OpTable& FilterOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_FILTER_H_
