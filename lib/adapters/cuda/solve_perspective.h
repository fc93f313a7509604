// The map that takes the corners of an image elsewhere.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_SOLVE_PERSPECTIVE_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_SOLVE_PERSPECTIVE_H_

#include "lib/adapters/cuda/warp_math.h"

namespace feedrate::fused {

// Top left, top right, bottom left, bottom right.
struct Corners {
  double x[4] = {0, 0, 0, 0};
  double y[4] = {0, 0, 0, 0};
};

// Reads the corners of a height x width image at the places `to`: what is there
// comes to lie in the corners. REQUIRES: no three of `to` on a line.
Projection SolvePerspective(const Corners& to, int height, int width);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_SOLVE_PERSPECTIVE_H_
