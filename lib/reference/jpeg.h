// What baseline JPEG does to an image.
#ifndef FEEDRATE_LIB_REFERENCE_JPEG_H_
#define FEEDRATE_LIB_REFERENCE_JPEG_H_

#include "lib/reference/pixels.h"

namespace feedrate {

// The image encoded at `quality` and decoded: YCbCr of JFIF, chroma halved both
// ways, the tables of ITU-T T.81 Annex K scaled as the Independent JPEG Group
// does, both cosine transforms exact, chroma doubled by a triangle filter.
// Entropy coding loses nothing and is left out. Each group of three channels is
// an image of its own. REQUIRES: 1 <= quality <= 100; a number of channels that
// three divides.
Pixels JpegRoundTrip(const Pixels& image, int quality);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_JPEG_H_
