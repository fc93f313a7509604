// The library `cuda`, with its loader.
#ifndef FEEDRATE_LIB_LOADER_CUDA_CUDA_LOADER_ADAPTER_H_
#define FEEDRATE_LIB_LOADER_CUDA_CUDA_LOADER_ADAPTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/adapters/cuda/cuda_adapter.h"
#include "lib/loader/cuda/gpu_loader.h"

namespace feedrate {

class CudaLoaderAdapter : public CudaAdapter {
 public:
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const TransformSpec& spec, const LoaderInput& input) override {
    return MakeGpuLoader(spec, input.files);
  }
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_CUDA_LOADER_ADAPTER_H_
