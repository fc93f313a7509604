// The library `cuda`: our kernels, on images that lie on the device.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_CUDA_ADAPTER_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_CUDA_ADAPTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// All items of the corpus are copied to the device when a transform is made
// ready. A call takes up to `spec.batch` images of any sizes: parameters are
// drawn on the host for each image and go to the device in one copy, then there
// is one launch. Both are part of the timed call.
class CudaAdapter : public Adapter {
 public:
  std::string library() const override { return "cuda"; }
  std::string version() const override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const TransformSpec& spec, const Corpus& corpus) override;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_CUDA_ADAPTER_H_
