#include "lib/adapters/worker/adapter.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace feedrate {

TransformSpec TransformOf(const PrepareCommand& command) {
  return {command.transform(),
          command.native_op(),
          {command.params().begin(), command.params().end()},
          command.wrap()};
}

void PreparedTransform::RunChunk(int64_t first, int64_t count,
                                 int64_t num_items) {
  for (int64_t i = 0; i < count; ++i) Run((first + i) % num_items);
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> Adapter::PrepareLoader(
    const PrepareCommand& spec, const LoaderInput& input) {
  return absl::UnimplementedError(absl::StrCat(
      library(), " is not a loader; it measures transforms alone"));
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> Adapter::PrepareMixture(
    const PrepareCommand& spec, const std::vector<MixtureSource>& sources) {
  return absl::UnimplementedError(
      absl::StrCat(library(), " mixes no data sets of episodes"));
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> Adapter::PrepareDecoder(
    const PrepareCommand& spec, const std::vector<SourceFile>& files) {
  return absl::UnimplementedError(
      absl::StrCat(library(), " decodes no videos here"));
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> LoaderAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  return absl::UnimplementedError(absl::StrCat(
      library(), " is a loader; it measures no transform by itself"));
}

}  // namespace feedrate
