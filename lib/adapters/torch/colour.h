// ATen: what each value or pixel becomes by itself, with their parameters.
//
//   at::bitwise_not
//   at::bitwise_and  mask
//   at::where  threshold: values from it on are inverted
//   at::pow  gamma
//   at::add+at::clamp  value; or r_shift, g_shift, b_shift
//   at::mul+at::sum+at::expand  weights=(r,g,b)
//   at::lerp  factor: away from the grey image
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_COLOUR_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_COLOUR_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchColourOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_COLOUR_H_
