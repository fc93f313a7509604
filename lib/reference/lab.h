// CIE Lab of sRGB images under D65.
#ifndef FEEDRATE_LIB_REFERENCE_LAB_H_
#define FEEDRATE_LIB_REFERENCE_LAB_H_

#include "lib/reference/pixels.h"

namespace feedrate {

// L* (0..100), a* and b* in place of red, green and blue.
// REQUIRES: three channels.
Pixels RgbToLab(const Pixels& image);
// The other way; colours that sRGB does not have saturate.
Pixels LabToRgb(const Pixels& image);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_LAB_H_
