// Parameters that differ from image to image of a batch.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_PER_IMAGE_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_PER_IMAGE_H_

#include <cstdint>
#include <vector>

#include "lib/adapters/torch/op.h"

namespace feedrate {

// A number for each image, N x 1 x 1 x 1, where the batch `in` is.
at::Tensor PerImage(const std::vector<double>& values, const at::Tensor& in);

// For each image of `in` another order of `size` things, as indexes into the
// things of all images one after the other.
at::Tensor OrderOfEach(int64_t size, const at::Tensor& in);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_PER_IMAGE_H_
