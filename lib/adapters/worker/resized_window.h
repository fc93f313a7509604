// Windows of a random-resized-crop, as torchvision draws them.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_RESIZED_WINDOW_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_RESIZED_WINDOW_H_

#include <optional>
#include <string>
#include <vector>

#include "lib/adapters/worker/params.h"
#include "lib/adapters/worker/random.h"

namespace feedrate {

struct WindowShape {
  Range area = {0.08, 1};            // Of the image's.
  Range ratio = {3.0 / 4, 4.0 / 3};  // Width to height.
  int tries = 10;
};

// Of parameters in the words of configs/transforms/: `scale=(0.08,1.0)` and
// `ratio=(0.75,1.33)`, of DALI `random_area` and `random_aspect_ratio`. Absent:
// they have no scale, or none that is understood.
std::optional<WindowShape> WindowShapeOf(
    const std::vector<std::string>& params);

struct DrawnWindow {
  int y = 0;
  int x = 0;
  int height = 0;
  int width = 0;
};

// Within an image of that size: its area is drawn evenly, its ratio evenly in
// the logarithm; after so many tries that do not fit, the largest one in the
// middle whose ratio is in range.
DrawnWindow DrawResizedWindow(const WindowShape& shape, int height, int width,
                              Random* random);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_RESIZED_WINDOW_H_
