// What a loader's recipe does around the transform, undone or done again.
#ifndef FEEDRATE_LIB_REFERENCE_RECIPE_H_
#define FEEDRATE_LIB_REFERENCE_RECIPE_H_

#include <vector>

#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// `image` with its channels repeated until there are `channels`.
Pixels RepeatChannels(const Pixels& image, int channels);

// The pixels that a normalised tensor was made of: `output` as ReadOutput gave
// it, times std plus mean, both repeated over the channels. A recipe that
// normalises bytes leaves whole numbers behind up to rounding; such an output
// counts as bytes. REQUIRES: mean and std are not empty and of equal length.
LibraryOutput UndoNormalisation(const LibraryOutput& output,
                                const std::vector<double>& mean,
                                const std::vector<double>& std);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_RECIPE_H_
