#include "lib/adapters/null/null_adapter.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/null/null_loader.h"

namespace feedrate {

// Here and not in the header, so that it is called as any other is.
void NullTransform::Run(int64_t item) {}

absl::StatusOr<Output> NullTransform::RunForOutput(int64_t item) {
  Output output;
  output.dtype = "uint8";
  output.layout = "HWC";
  output.shape = {0, 0, 0};
  return output;
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> NullAdapter::Prepare(
    const TransformSpec& spec, const Corpus& corpus) {
  return std::make_unique<NullTransform>(spec.device == "cuda");
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> NullAdapter::PrepareDecoder(
    const TransformSpec& spec, const std::vector<SourceFile>& files) {
  return std::make_unique<NullTransform>(spec.device == "cuda");
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> NullAdapter::PrepareLoader(
    const TransformSpec& spec, const LoaderInput& input) {
  return std::make_unique<NullLoader>(*spec.loader);
}

}  // namespace feedrate
