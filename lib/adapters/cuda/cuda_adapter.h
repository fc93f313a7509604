// The library `cuda`: our kernels, on images in device memory.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// Preparing a transform copies all items of the corpus to the device. A call
// takes up to `spec.batch()` images of any sizes: the host draws parameters for
// each image and copies them to the device at once, then makes one launch. Both
// are part of the timed call.
class CudaAdapter : public Adapter {
 public:
  std::string library() const override { return "cuda"; }
  std::string version() const override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override;
};

}  // namespace feedrate
