// Operations that multiply the image by something smooth.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_LIGHT_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_LIGHT_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// cv::multiply with one of these, saturating:
//   factors=(r,g,b)   each channel times its own; RGB images only
// or times 1 + sign * intensity * gradient, where sign is -1 or 1, each as
// likely unless it is given, and gradient goes from 0 to 1:
//   angle             along the rows (90, downwards; 270, upwards) or columns
//                     (0, to the right; 180, to the left)
//   corner            uniform, or top_left and so on: 1 there, 0 at the
//                     distance of the diagonal
//   center, sigma     a Gaussian around the centre, of which both coordinates
//                     are drawn from U(a,b), or (x,y), in units of the sides;
//                     sigma in units of the longer side
// cv::Mat(ramp)+cv::add with ramp, side=top|bottom|left|right: adds up to ramp
// * 255 on that side, nothing on the opposite one
const OpTable& LightOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_LIGHT_H_
