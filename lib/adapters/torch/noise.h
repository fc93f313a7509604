// ATen: random values, pixels, channels and holes, with their parameters.
//
//   at::randn+at::add+at::clamp  mean, std
//   at::rand+at::where  amount, salt_vs_pepper
//   at::select+at::zero_  channels: how many; or channel: which
//   at::randperm+at::index_select  dim
//   at::index_select  dim, index=(...)
//   at::slice+at::fill_  value; scale, ratio, tries; or
//     rect=(top,left,height,width)
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_NOISE_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_NOISE_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchNoiseOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_NOISE_H_
