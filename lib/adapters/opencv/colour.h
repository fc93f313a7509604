// Operations that see the three colours of a pixel together: RGB images only.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_COLOUR_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_COLOUR_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::cvtColor                   code, back: there and back, such as grey
// cv::cvtColor+cv::LUT           hue_shift (units of 2 degrees, in HSV); or
//                                snow_point, brightness_coeff: in HLS,
//                                lightness below snow_point * 127.5 + 85 is
//                                multiplied
// cv::cvtColor+cv::add           sat_shift: in HSV
// cv::cvtColor+cv::CLAHE::apply  clip_limit, tile_grid_size, channel=L of Lab
const OpTable& ColourOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_COLOUR_H_
