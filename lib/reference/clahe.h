// Histogram equalisation tile by tile.
#ifndef FEEDRATE_LIB_REFERENCE_CLAHE_H_
#define FEEDRATE_LIB_REFERENCE_CLAHE_H_

#include "lib/reference/pixels.h"

namespace feedrate {

// Contrast limited adaptive histogram equalisation of the lightness L* of
// CIE Lab (sRGB, D65) in 256 steps; a* and b* stay. The image is cut into
// tiles x tiles; in each, counts above `clip_limit` times the mean count are
// shared out evenly before they are summed; between the middles of tiles the
// results are interpolated. An image that the tiles do not fit is continued by
// reflection. REQUIRES: three channels, at least as many pixels as tiles on
// each side, tiles >= 1.
Pixels EqualizeTiles(const Pixels& image, double clip_limit, int tiles);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_CLAHE_H_
