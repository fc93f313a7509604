// ATen: a pixel and its neighbours, with their parameters.
//
//   at::reflection_pad2d+at::avg_pool2d  kernel_size, stride=1
//   at::reflection_pad2d+at::conv2d  kernel_size, sigma, separable=True
//   at::replication_pad2d+at::conv2d  kernel=(nine weights), scale
//   at::conv2d+at::lerp  sharpness_factor
//   at::conv2d  kernel_size, angle, direction, padding_mode
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_FILTER_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_FILTER_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchFilterOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_FILTER_H_
