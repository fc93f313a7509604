// What to decode of a JPEG, and how.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_REGION_OPTIONS_H_
#define FEEDRATE_LIB_MEDIA_JPEG_REGION_OPTIONS_H_

#include "absl/status/status.h"
#include "lib/media/image_info.h"

namespace feedrate {

// In pixels of the decoded image, which `scale` makes smaller.
struct JpegRegion {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

struct JpegRegionOptions {
  // 1, 2, 4 or 8: the image is decoded at 1/scale of its size, rounded up, for
  // a fraction of the work. See ScaledSize.
  int scale = 1;
  // The accurate integer transform; otherwise libjpeg's fast one, off by a
  // level or two.
  bool exact_dct = true;
  // Colours between two samples are interpolated, as everywhere in lib/media;
  // otherwise repeated, which is faster and leaves steps at coloured edges.
  bool smooth_colours = true;
};

// A side of the image after scaling.
inline int ScaledSize(int size, int scale) {
  return (size + scale - 1) / scale;
}

// InvalidArgument for what is not decoded: other than grey and colour, and more
// than kMostPixels.
absl::Status CheckJpegInfo(const ImageInfo& info);

// InvalidArgument unless the region lies within the image, whose size is that
// before scaling, and the scale is one of those above.
absl::Status CheckJpegRegion(const JpegRegion& region,
                             const JpegRegionOptions& options,
                             const ImageInfo& info);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_REGION_OPTIONS_H_
