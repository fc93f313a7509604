// feedrate's own loader, to be measured beside the others.
#ifndef FEEDRATE_LIB_LOADER_WORKER_NATIVE_ADAPTER_H_
#define FEEDRATE_LIB_LOADER_WORKER_NATIVE_ADAPTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// Recipes are those of the library opencv: a spec has its native_op and params.
class NativeAdapter : public LoaderAdapter {
 public:
  std::string library() const override { return "native"; }
  // That of the OpenCV inside, which decides what the transforms do.
  std::string version() const override;
  int threads() const override { return threads_; }
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const TransformSpec& spec, const LoaderInput& input) override;
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareMixture(
      const TransformSpec& spec,
      const std::vector<MixtureSource>& sources) override;

 private:
  int threads_ = 1;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_WORKER_NATIVE_ADAPTER_H_
