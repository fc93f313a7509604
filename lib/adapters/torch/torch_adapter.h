// ATen, torch's library of tensors, called from C++ on the CPU.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_ADAPTER_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_ADAPTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// Needs a corpus of uint8 CHW images. Each output is a tensor of its own, as in
// every program that uses torch.
class TorchAdapter : public Adapter {
 public:
  std::string library() const override { return "torch"; }
  std::string version() const override;
  int threads() const override;
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const TransformSpec& spec, const Corpus& corpus) override;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_ADAPTER_H_
