// ATen: pixels that change places, with their parameters.
//
//   at::flip  dims
//   at::transpose+at::contiguous  dims
//   at::rot90+at::contiguous  k, dims
//   at::constant_pad_nd  pad=(left,right,top,bottom), value
//   at::reshape+at::permute+at::index_select  grid=(rows,columns), order
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_REARRANGE_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_REARRANGE_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchRearrangeOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_REARRANGE_H_
