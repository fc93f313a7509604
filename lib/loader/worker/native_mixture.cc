#include "lib/loader/worker/native_mixture.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/adapters/worker/timing.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

void DelayTeardown() {
  const char* const text = std::getenv(kTeardownDelayVariable);
  double seconds = 0;
  if (text != nullptr && absl::SimpleAtod(text, &seconds)) {
    absl::SleepFor(absl::Seconds(seconds));
  }
}

// Number and samples of each data set, in the order of the sources.
std::vector<int64_t> CountsOf(const MixtureBatch& batch) {
  std::map<int64_t, int64_t> samples;
  for (const int64_t dataset : *batch.datasets) ++samples[dataset];
  std::vector<int64_t> counts;
  for (const auto& [dataset, count] : samples) {
    counts.push_back(dataset);
    counts.push_back(count);
  }
  return counts;
}

// Takes the batches and notes when they came and what is in them.
class MixtureStream : public BatchStream {
 public:
  MixtureStream(MixtureLoader* loader, int64_t start_ns, int64_t count)
      : loader_(loader), start_ns_(start_ns), left_(count) {}

  absl::StatusOr<BatchStream::Batch> Next() override {
    ASSIGN_OR_RETURN(const MixtureBatch* const batch, loader_->Next());
    if (batch == nullptr) return BatchStream::Batch();
    times_s_.push_back((MonotonicNs() - start_ns_) * 1e-9);
    counts_.push_back(CountsOf(*batch));
    left_ -= batch->size;
    return BatchStream::Batch{batch->size, batch->bytes()};
  }

  absl::Status Finish(EpochReply* reply) override {
    reply->times_s = std::move(times_s_);
    reply->counts = std::move(counts_);
    reply->left_out = loader_->left_out();
    reply->memory_bound_bytes = loader_->memory_bound_bytes();
    ReportFaults(loader_->faults(), reply);
    // Threads that are still at work have not added up theirs.
    if (left_ <= 0) ReportStages(loader_->stages(), reply);
    return absl::OkStatus();
  }

 private:
  MixtureLoader* const loader_;
  const int64_t start_ns_;
  int64_t left_;
  std::vector<double> times_s_;
  std::vector<std::vector<int64_t>> counts_;
};

class NativeMixture : public PreparedLoader {
 public:
  NativeMixture(const MixtureSpec& spec,
                const std::vector<MixtureSource>& sources)
      : spec_(spec), sources_(sources) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    loader_.reset();
    // Memory for batches is the loader's, not the epoch's: made before. Not in
    // Prepare, since a runner keeps many prepared loaders waiting.
    RETURN_IF_ERROR(memory_.Reserve(spec_));
    return TimeEpoch(
        command, [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
          const int64_t start_ns = MonotonicNs();
          MixtureOptions options;
          options.spec = spec_;
          options.seed = command.seed;
          options.count = command.count;
          ASSIGN_OR_RETURN(loader_,
                           MixtureLoader::Start(sources_, options, &memory_));
          return std::make_unique<MixtureStream>(loader_.get(), start_ns,
                                                 command.count);
        });
  }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    return absl::UnimplementedError("a mixture has no items by number");
  }

  absl::StatusOr<double> Stop() override {
    const int64_t start_ns = MonotonicNs();
    DelayTeardown();
    loader_.reset();
    return (MonotonicNs() - start_ns) * 1e-9;
  }

 private:
  const MixtureSpec spec_;
  const std::vector<MixtureSource>& sources_;
  MixtureMemory memory_;
  std::unique_ptr<MixtureLoader> loader_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareNativeMixture(
    const TransformSpec& spec, const std::vector<MixtureSource>& sources) {
  for (const MixtureSource& source : sources) {
    if (source.weight > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("data set \"", source.name, "\": weight ", source.weight,
                     " is not possible; use one above 0"));
  }
  return std::make_unique<NativeMixture>(*spec.mixture, sources);
}

}  // namespace feedrate
