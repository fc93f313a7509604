#include "lib/adapters/torch/per_image.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <vector>

namespace feedrate {

at::Tensor PerImage(const std::vector<double>& values, const at::Tensor& in) {
  return at::tensor(values, at::kDouble).to(FloatsLike(in)).view({-1, 1, 1, 1});
}

at::Tensor OrderOfEach(int64_t size, const at::Tensor& in) {
  const int64_t images = in.size(0);
  const at::Tensor first =
      at::arange(images, IndexesLike(in)).mul_(size).view({images, 1});
  return at::rand({images, size}, FloatsLike(in))
      .argsort(int64_t{1})
      .add_(first)
      .flatten();
}

}  // namespace feedrate
