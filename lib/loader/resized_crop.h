// Windows of a random-resized-crop, as the libraries draw them.
#ifndef FEEDRATE_LIB_LOADER_RESIZED_CROP_H_
#define FEEDRATE_LIB_LOADER_RESIZED_CROP_H_

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/media/jpeg_region_options.h"

namespace feedrate {

struct ResizedCrop {
  // Parts of the image's area, and width over height.
  double least_area = 0.08;
  double most_area = 1;
  double least_ratio = 3.0 / 4;
  double most_ratio = 4.0 / 3;
};

// Of parameters in the words of configs/transforms/: `scale=(0.08,1.0)` and
// `ratio=(0.75,1.33)`, of DALI `random_area` and `random_aspect_ratio`. Absent:
// they have no scale, or none that is understood.
std::optional<ResizedCrop> ResizedCropOf(
    const std::vector<std::string>& params);

// A window within the image: its area is drawn evenly, its ratio evenly in the
// logarithm; after ten that do not fit, the centre, as large as ratios allow.
JpegRegion DrawResizedCrop(const ResizedCrop& crop, int height, int width,
                           std::mt19937_64* random);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_RESIZED_CROP_H_
