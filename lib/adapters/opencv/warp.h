// Operations that map lines to lines: turns, shears, perspective.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_WARP_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_WARP_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// All keep the size and take interpolation, border_mode and fill.
//
// cv::getRotationMatrix2D+cv::warpAffine
//     angle: degrees counter-clockwise about the centre
// cv::warpAffine
//     rotate, scale, shear=(x,y) in degrees, translate_px=(x,y), each optional:
//     about the centre, the shear first and the translation last
// cv::getPerspectiveTransform+cv::warpPerspective
//     scale: each corner moves inwards by |N(0, scale)| of the side
// cv::warpPerspective
//     matrix=(h0,...,h7): pixel (x, y) is read at ((h0 x + h1 y + h2) / w,
//     (h3 x + h4 y + h5) / w), w = h6 x + h7 y + 1
const OpTable& WarpOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_WARP_H_
