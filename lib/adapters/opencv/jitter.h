// Brightness, contrast, saturation and hue one after the other, of RGB images.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_JITTER_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_JITTER_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// Parameters, each a number or U(a,b), and none of which is needed:
//   brightness  times that
//   contrast    away from the mean luma by that factor
//   saturation  away from the luma of the pixel by that factor
//   hue         turned in HSV, in whole turns
// and order: `fixed` (as above), `random`, or `contrast_first_or_last`
// (brightness, then contrast before or after saturation and hue).
//
// cv::LUT+cv::cvtColor+cv::addWeighted    saturation by a blend with the grey
//                                         image
// cv::Mat::convertTo+cv::cvtColor+cv::LUT  saturation and hue together in HSV
const OpTable& JitterOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_JITTER_H_
