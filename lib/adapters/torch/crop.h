// ATen: windows and sizes, with their parameters.
//
//   at::upsample_bilinear2d  align_corners; size; or max_size, side
//   at::slice+at::constant_pad_nd  size, pad_if_needed, fill, position
//   at::slice+at::upsample_bilinear2d  size, align_corners, scale, ratio,
//     tries, fallback
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_CROP_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_CROP_H_

#include "lib/adapters/torch/op.h"

namespace feedrate {

const TorchOpTable& TorchCropOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_CROP_H_
