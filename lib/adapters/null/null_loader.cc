#include "lib/adapters/null/null_loader.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/time_epoch.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

int64_t ItemValues(const LoaderSpec& spec) {
  return int64_t{spec.channels} * spec.crop * spec.crop;
}

class NullStream : public BatchStream {
 public:
  NullStream(const LoaderSpec& spec, int64_t count)
      : spec_(spec), left_(count) {}

  absl::StatusOr<Batch> Next() override {
    const int64_t items = std::min(left_, spec_.batch_size);
    left_ -= items;
    if (items < spec_.batch_size && spec_.drop_last) return Batch();
    return Batch{
        items, items * ItemValues(spec_) * static_cast<int64_t>(sizeof(float))};
  }
  absl::Status Finish(EpochReply* reply) override { return absl::OkStatus(); }

 private:
  const LoaderSpec& spec_;
  int64_t left_;
};

}  // namespace

NullLoader::NullLoader(const LoaderSpec& spec)
    : spec_(spec), batch_(spec.batch_size * ItemValues(spec)) {}

absl::StatusOr<EpochReply> NullLoader::RunEpoch(const EpochCommand& command) {
  return TimeEpoch(command, [&] {
    return std::make_unique<NullStream>(spec_, command.count);
  });
}

absl::StatusOr<Output> NullLoader::OutputFor(int64_t item, uint64_t seed) {
  Output output;
  output.data = batch_.data();
  output.bytes = ItemValues(spec_) * static_cast<int64_t>(sizeof(float));
  output.dtype = "float32";
  output.layout = "CHW";
  output.shape = {spec_.channels, spec_.crop, spec_.crop};
  return output;
}

}  // namespace feedrate
