#include "lib/adapters/null/null_adapter.h"

#include <algorithm>

#include "absl/status/status.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

int64_t ItemValues(const LoaderSpec& spec) {
  return int64_t{spec.channels()} * spec.crop() * spec.crop();
}

class NullStream : public BatchStream {
 public:
  NullStream(const LoaderSpec& spec, int64_t count)
      : spec_(spec), left_(count) {}

  absl::StatusOr<Batch> Next() override {
    const int64_t items = std::min(left_, spec_.batch_size());
    left_ -= items;
    if (items < spec_.batch_size() && spec_.drop_last()) return Batch();
    return Batch{
        items, items * ItemValues(spec_) * static_cast<int64_t>(sizeof(float))};
  }
  absl::Status Finish(EpochReply* reply) override { return absl::OkStatus(); }

 private:
  const LoaderSpec& spec_;
  int64_t left_;
};

// Delivers the same batch of zeros again and again. Reads nothing: its rows are
// what the harness costs per batch.
class NullLoader : public PreparedLoader {
 public:
  explicit NullLoader(const LoaderSpec& spec);

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override;
  // A tensor of zeros that must not be compared.
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override;

 private:
  const LoaderSpec spec_;
  // Made once, like in a loader that reuses its batches.
  const std::vector<float> batch_;
};

NullLoader::NullLoader(const LoaderSpec& spec)
    : spec_(spec), batch_(spec.batch_size() * ItemValues(spec)) {}

absl::StatusOr<EpochReply> NullLoader::RunEpoch(const EpochCommand& command) {
  return TimeEpoch(command, [&] {
    return std::make_unique<NullStream>(spec_, command.count());
  });
}

absl::StatusOr<Output> NullLoader::OutputFor(int64_t item, uint64_t seed) {
  Output output;
  output.data = batch_.data();
  output.bytes = ItemValues(spec_) * static_cast<int64_t>(sizeof(float));
  output.dtype = "float32";
  output.layout = "CHW";
  output.shape = {spec_.channels(), spec_.crop(), spec_.crop()};
  return output;
}

}  // namespace

// Here and not in the header, so that it is not inlined.
void NullTransform::Run(int64_t item) {}

absl::StatusOr<Output> NullTransform::RunForOutput(int64_t item) {
  Output output;
  output.dtype = "uint8";
  output.layout = "HWC";
  output.shape = {0, 0, 0};
  return output;
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> NullAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  return std::make_unique<NullTransform>(spec.device() == "cuda");
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> NullAdapter::PrepareDecoder(
    const PrepareCommand& spec, const std::vector<SourceFile>& files) {
  return std::make_unique<NullTransform>(spec.device() == "cuda");
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> NullAdapter::PrepareLoader(
    const PrepareCommand& spec, const LoaderInput& input) {
  return std::make_unique<NullLoader>(spec.loader());
}

}  // namespace feedrate
