// Differential flame graphs: a tree of calls with the time of both sides.
#pragma once

#include <string>
#include <vector>

#include "lib/draw/svg.h"

namespace feedrate {

struct FlameFrame {
  // Index of the calling frame; -1 for the root, which is the first.
  int parent = -1;
  std::string name;
  // Seconds including what it calls.
  double a = 0;
  double b = 0;
};

struct FlameGraph {
  std::string title;
  // Parents before children.
  std::vector<FlameFrame> frames;
  double width = 820;
};

// Draws the root at the top and callees below, the largest first. A frame is as
// wide as the time of both sides together, so that what one side lacks stays
// visible. Its color says how much more (orange) or less (blue) time B takes,
// as a share of the largest change. Leaves out frames narrower than a
// pixel.
Svg DrawFlameGraph(const FlameGraph& graph);

}  // namespace feedrate
