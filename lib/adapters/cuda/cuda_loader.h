// The loader of the library `cuda`: files to batches on the device.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/cuda/cuda_adapter.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/source/source_file.h"

namespace feedrate {

// `files` must outlive limits: with the ablation kDeviceLimits it reports the
// maximum rates of engines and copies instead.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeCudaLoader(
    const PrepareCommand& spec, const std::vector<SourceFile>& files);

class CudaLoaderAdapter : public CudaAdapter {
 public:
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override {
    return MakeCudaLoader(spec, input.files);
  }
};

}  // namespace feedrate
