// ATen: values spread by what the image holds, with their parameters.
//
//   at::amin+at::amax  cutoff=0
//   at::bincount+at::cumsum+at::gather  by_channels=True
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_TONE_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_TONE_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchToneOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_TONE_H_
