#include "lib/adapters/native/native_adapter.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/adapters/native/loader_job.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source/container_source.h"
#include "lib/loader/source/data_folder.h"
#include "lib/loader/source/remote_source.h"
#include "lib/media/parallel.h"
#include "lib/records/worker.pb.h"
#include "lib/storage/object_store.h"
#include "lib/worker/message.h"
#include "opencv2/core/ocl.hpp"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

// Measures only copies, since the CPU decodes.
absl::StatusOr<std::unique_ptr<PreparedLoader>> DeviceLimitsOf(
    const PrepareCommand& spec) {
  if (spec.device() != "cuda" || spec.loader().scope() != kCopyScope) {
    return absl::InvalidArgumentError(
        absl::StrCat("native uses no device but in the scope ", kCopyScope));
  }
  return MakeLimitsLoader([](double) -> absl::StatusOr<DeviceLimits> {
    DeviceLimits limits;
    ASSIGN_OR_RETURN(const double speed, CopyBytesPerSecond());
    limits.set_copy_bytes_per_s(speed);
    return limits;
  });
}

}  // namespace

std::string NativeAdapter::version() const {
  return absl::StrCat("1+opencv", cv::getVersionString());
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> NativeAdapter::PrepareLoader(
    const PrepareCommand& spec, const LoaderInput& input) {
  cv::ocl::setUseOpenCL(false);
  if (spec.loader().ablation() == kDeviceLimits) return DeviceLimitsOf(spec);
  ASSIGN_OR_RETURN(const LoaderOptions options, NativeOptions(spec));
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   NativeSource(spec.loader(), input));
  std::unique_ptr<BatchMemory> memory;
  std::unique_ptr<DeviceCopy> copy;
  if (spec.loader().scope() == kCopyScope && spec.device() == "cuda") {
    ASSIGN_OR_RETURN(memory, PinnedMemory());
    ASSIGN_OR_RETURN(copy, CudaCopy());
  } else if (spec.loader().scope() == kCopyScope) {
    copy = std::make_unique<HostCopy>();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader,
                   Loader::Create(std::move(source), options, std::move(memory),
                                  std::move(copy)));
  threads_ = std::max(1, options.workers);
  return PrepareLoaderOf(std::move(loader), spec.loader());
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> NativeAdapter::PrepareMixture(
    const PrepareCommand& spec, const std::vector<MixtureSource>& sources) {
  threads_ = spec.mixture().decode_parallelism() > 0
                 ? spec.mixture().decode_parallelism()
                 : UsableProcessors();
  return PrepareNativeMixture(spec, sources);
}

namespace {

Ablation AblationOf(const std::string& word) {
  if (word == "no_augment") return Ablation::kNoAugment;
  if (word == "no_decode") return Ablation::kNoDecode;
  if (word == "cached_batch") return Ablation::kCachedBatch;
  return Ablation::kNone;
}

absl::Status BadSetting(const std::string& name, const std::string& value) {
  return absl::InvalidArgumentError(absl::StrCat(
      "native knows no setting ", name, "=", value,
      "; there are read_ahead=inline|threads|io_uring|auto|remote, "
      "read_threads=N, "
      "read_depth=N, access=read|mmap, scaled_decode=true|false, "
      "jpeg_index=true|false, and for data in a store connections=N, "
      "range_bytes=N"));
}

// True if `value` is one of `words`, which correspond to consecutive values of
// `to`.
template <typename T>
bool Choose(const std::string& value, const std::vector<std::string>& words,
            T* to) {
  const auto found = std::find(words.begin(), words.end(), value);
  *to = static_cast<T>(found - words.begin());
  return found != words.end();
}

bool Positive(const std::string& value, int* to) {
  return absl::SimpleAtoi(value, to) && *to > 0;
}

bool ApplySetting(const std::string& name, const std::string& value,
                  NativeSettings* to) {
  if (name == "read_ahead") {
    return Choose(value, {"inline", "threads", "io_uring", "auto", "remote"},
                  &to->read_ahead.method);
  }
  if (name == "read_threads") return Positive(value, &to->read_ahead.threads);
  if (name == "read_depth") return Positive(value, &to->read_ahead.depth);
  if (name == "connections") return Positive(value, &to->connections);
  if (name == "range_bytes") {
    return absl::SimpleAtoi(value, &to->range_bytes) && to->range_bytes > 0;
  }
  if (name == "access") return Choose(value, {"read", "mmap"}, &to->access);
  if (name == "scaled_decode") {
    return Choose(value, {"false", "true"}, &to->scaled_decode);
  }
  if (name == "jpeg_index") {
    return Choose(value, {"false", "true"}, &to->jpeg_index);
  }
  return false;
}

}  // namespace

absl::StatusOr<NativeSettings> ParseNativeSettings(
    const std::map<std::string, std::string>& settings) {
  NativeSettings parsed;
  for (const auto& [name, value] : settings) {
    if (!ApplySetting(name, value, &parsed)) return BadSetting(name, value);
  }
  return parsed;
}

absl::StatusOr<LoaderOptions> NativeOptions(const PrepareCommand& spec) {
  const LoaderSpec& loader = spec.loader();
  const bool copies = spec.device() == "cuda" && loader.scope() == kCopyScope;
  if (!spec.device().empty() && spec.device() != "cpu" && !copies) {
    return absl::InvalidArgumentError(absl::StrCat(
        "native delivers on the cpu, or copies to cuda in the "
        "scope ",
        kCopyScope, "; not ", spec.device(), " in ", loader.scope()));
  }
  ASSIGN_OR_RETURN(LoaderOptions options, LoaderOptionsOf(spec));
  options.ablation = AblationOf(loader.ablation());
  ASSIGN_OR_RETURN(const NativeSettings settings,
                   ParseNativeSettings(
                       {loader.settings().begin(), loader.settings().end()}));
  options.read_ahead = settings.read_ahead;
  options.recipe.scaled_decode = settings.scaled_decode;
  if (settings.jpeg_index) {
    // Not a path of the job's, which may come from a file of somebody else.
    ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
    options.jpeg_index = JoinPath(folder, kJpegIndexName);
  }
  return options;
}

namespace {

absl::StatusOr<std::unique_ptr<Source>> StoreSource(
    const LoaderSpec& spec, const NativeSettings& settings,
    const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(StoreSpec store,
                   ParseStoreSpec({spec.store().begin(), spec.store().end()}));
  if (settings.connections > 0) {
    store.options.connections = settings.connections;
  }
  if (settings.range_bytes > 0) {
    store.options.range_bytes = settings.range_bytes;
  }
  return OpenRemoteSource(store, files);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> NativeSource(const LoaderSpec& spec,
                                                     const LoaderInput& input) {
  ASSIGN_OR_RETURN(
      const NativeSettings settings,
      ParseNativeSettings({spec.settings().begin(), spec.settings().end()}));
  if (spec.source() == "objects") {
    return StoreSource(spec, settings, input.files);
  }
  if (settings.connections > 0 || settings.range_bytes > 0) {
    return absl::InvalidArgumentError(
        "connections and range_bytes are settings of a store; name one with "
        "--dataset=s3://… or another address");
  }
  if (spec.source() == "corpus") {
    if (input.corpus == nullptr) {
      return absl::InvalidArgumentError("a corpus was to be sent, and was not");
    }
    return MemorySource(*input.corpus);
  }
  std::vector<std::string> paths;
  for (const SourceFile& file : input.files) paths.push_back(file.path);
  if (spec.source() == "shards") return ShardSource(paths);
  if (spec.source() == "tfrecord") return TfRecordSource(paths);
  if (spec.source() == "parquet") return ParquetSource(paths);
  if (spec.source() == "lmdb") return LmdbSource(paths);
  std::vector<ListedFile> files;
  files.reserve(input.files.size());
  for (const SourceFile& file : input.files) {
    files.push_back({file.path, file.bytes});
  }
  return ListSource(std::move(files), settings.access);
}

namespace {

void DelayTeardown() {
  const char* const text = std::getenv(kTeardownDelayVariable);
  double seconds = 0;
  if (text != nullptr && absl::SimpleAtod(text, &seconds)) {
    absl::SleepFor(absl::Seconds(seconds));
  }
}

// Number and samples of each data set, in the order of the sources.
BatchCounts CountsOf(const MixtureBatch& batch) {
  std::map<int64_t, int64_t> samples;
  for (const int64_t dataset : *batch.datasets) ++samples[dataset];
  BatchCounts counts;
  for (const auto& [dataset, count] : samples) {
    counts.add_list(dataset);
    counts.add_list(count);
  }
  return counts;
}

// Takes the batches and records when they came and what they contain.
class MixtureStream : public BatchStream {
 public:
  // `position` is where the mixture begins, if its state is wanted.
  MixtureStream(MixtureLoader* loader, int64_t start_ns, int64_t count,
                std::optional<EpochPosition> position)
      : loader_(loader),
        start_ns_(start_ns),
        left_(count),
        position_(position) {}

  absl::StatusOr<BatchStream::Batch> Next() override {
    ASSIGN_OR_RETURN(const MixtureBatch* const batch, loader_->Next());
    if (batch == nullptr) return BatchStream::Batch();
    batches_.add_times_s((MonotonicNs() - start_ns_) * 1e-9);
    *batches_.add_counts() = CountsOf(*batch);
    left_ -= batch->size;
    if (position_.has_value()) position_->done += batch->size;
    return BatchStream::Batch{batch->size, batch->bytes()};
  }

  absl::Status Finish(EpochReply* reply) override {
    reply->mutable_times_s()->Swap(batches_.mutable_times_s());
    reply->mutable_counts()->Swap(batches_.mutable_counts());
    for (const std::string& name : loader_->left_out()) {
      reply->add_left_out(name);
    }
    reply->set_memory_bound_bytes(loader_->memory_bound_bytes());
    ReportFaults(loader_->faults(), reply);
    if (position_.has_value()) reply->set_state(position_->ToText());
    // Threads that are still working have not added up their times yet.
    if (left_ <= 0) ReportStages(loader_->stages(), reply);
    return absl::OkStatus();
  }

 private:
  MixtureLoader* const loader_;
  const int64_t start_ns_;
  int64_t left_;
  std::optional<EpochPosition> position_;
  // Holds `times_s` and `counts`.
  EpochReply batches_;
};

class NativeMixture : public PreparedLoader {
 public:
  NativeMixture(const MixtureSpec& spec,
                const std::vector<MixtureSource>& sources)
      : spec_(spec), sources_(sources) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    loader_.reset();
    // The loader owns the memory for batches, not the epoch: allocated before.
    // Not in Prepare, since a runner keeps many prepared loaders waiting.
    RETURN_IF_ERROR(memory_.Reserve(spec_));
    ASSIGN_OR_RETURN(const EpochPosition begin, BeginOf(command));
    return TimeEpoch(
        command, [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
          const int64_t start_ns = MonotonicNs();
          MixtureOptions options;
          options.spec = spec_;
          options.seed = begin.seed;
          options.count = command.count();
          options.done = begin.done;
          ASSIGN_OR_RETURN(loader_,
                           MixtureLoader::Start(sources_, options, &memory_));
          return std::make_unique<MixtureStream>(
              loader_.get(), start_ns, command.count(),
              command.ids() ? std::make_optional(begin) : std::nullopt);
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
    const PrepareCommand& spec, const std::vector<MixtureSource>& sources) {
  for (const MixtureSource& source : sources) {
    if (source.weight > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("data set \"", source.name, "\": weight ", source.weight,
                     " is not possible; use one above 0"));
  }
  return std::make_unique<NativeMixture>(SpecOf(spec.mixture()), sources);
}

}  // namespace feedrate
