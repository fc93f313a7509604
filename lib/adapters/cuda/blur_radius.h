// Kernels of blurs are compiled for each radius; which one is known at run
// time.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_RADIUS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_RADIUS_H_

#include <cuda_runtime_api.h>

#include <type_traits>

namespace feedrate::fused {

// What `launch` returns for the radius, which it gets as a type with a `value`.
template <typename Launch>
cudaError_t ForRadius(int radius, const Launch& launch) {
  switch (radius) {
    case 1:
      return launch(std::integral_constant<int, 1>());
    case 2:
      return launch(std::integral_constant<int, 2>());
    case 3:
      return launch(std::integral_constant<int, 3>());
    case 4:
      return launch(std::integral_constant<int, 4>());
    case 5:
      return launch(std::integral_constant<int, 5>());
    case 6:
      return launch(std::integral_constant<int, 6>());
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_RADIUS_H_
