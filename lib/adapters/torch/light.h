// ATen: light that grows over the image, with their parameters.
//
//   at::mul+at::clamp  factor; or intensity, sign, and one of
//     angle; corner; center and sigma
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_LIGHT_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_LIGHT_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchLightOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_LIGHT_H_
