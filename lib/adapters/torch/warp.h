// ATen: pixels read from other places, with their parameters.
//
//   at::affine_grid_generator+at::grid_sampler  angle or rotate, scale,
//     shear=(x,y), translate_px=(x,y)
//   at::grid_sampler  matrix=(eight numbers, from output to input)
//   at::linalg_solve+at::grid_sampler  distortion_scale
//   at::conv2d+at::grid_sampler  alpha, sigma, kernel_size, separable=True
//
// Each with mode, padding_mode and align_corners=False.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_WARP_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_WARP_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchWarpOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_WARP_H_
