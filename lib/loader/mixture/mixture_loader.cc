#include "lib/loader/mixture/mixture_loader.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/kept_frames.h"
#include "lib/loader/mixture/mixture_plan.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

// Enough for a block of one pair an episode; more only takes memory.
constexpr int kMostAhead = 8;
// What a decoder keeps for itself: tables and a few rows of coefficients.
constexpr int64_t kDecoderBytes = int64_t{2} << 20;

MetadataMode ModeOf(const std::string& name) {
  return name == "full"           ? MetadataMode::kFull
         : name == "dataset_only" ? MetadataMode::kDatasetOnly
                                  : MetadataMode::kNone;
}

// The one in use, and those that a block may need while nobody has time to
// open more.
int AheadOf(const MixtureSpec& spec) {
  const int pairs = spec.samples_per_episode > 0 ? spec.samples_per_episode
                                                 : spec.mix_block_length;
  return std::clamp(1 + (spec.mix_block_length + pairs - 1) / pairs, 2,
                    kMostAhead);
}

int64_t SampleBytes(const MixtureSpec& spec) {
  return int64_t{2} * 3 * spec.frame_height * spec.frame_width;
}

// The ring counts in floats; a sample is a whole number of them, since its
// sides are even.
BatchRingOptions RingOptions(const MixtureOptions& options) {
  BatchRingOptions ring;
  ring.shape = {1, 1,
                static_cast<int>(SampleBytes(options.spec) / sizeof(float))};
  ring.batch_size = static_cast<int>(options.spec.batch_size);
  ring.count = options.count;
  return ring;
}

int DecodersOf(const MixtureSpec& spec) {
  return spec.decode_parallelism > 0 ? spec.decode_parallelism
                                     : UsableProcessors();
}

}  // namespace

absl::Status MixtureMemory::Reserve(const MixtureSpec& spec) {
  const int64_t bytes = spec.batch_size * SampleBytes(spec);
  // Those in the queue, and the one that the consumer has.
  const auto wanted = static_cast<size_t>(spec.queue_depth) + 1;
  if (bytes == block_bytes_ && blocks_.size() == wanted) {
    return absl::OkStatus();
  }
  blocks_.clear();
  block_bytes_ = bytes;
  const std::unique_ptr<BatchMemory> memory = PageMemory();
  while (blocks_.size() < wanted) {
    ASSIGN_OR_RETURN(blocks_.emplace_back(), memory->Allocate(bytes));
  }
  return absl::OkStatus();
}

MixtureLoader::MixtureLoader(const MixtureOptions& options,
                             const MixtureMemory& memory)
    : options_(options),
      memory_(memory),
      shape_({options.spec.frame_height, options.spec.frame_width}),
      metadata_mode_(ModeOf(options.spec.metadata)),
      ring_(RingOptions(options)) {}

MixtureLoader::~MixtureLoader() { Stop(); }

absl::StatusOr<std::unique_ptr<MixtureLoader>> MixtureLoader::Start(
    const std::vector<MixtureSource>& sources, const MixtureOptions& options,
    const MixtureMemory* memory) {
  RETURN_IF_ERROR(CheckMixtureSpec(options.spec));
  auto loader = absl::WrapUnique(new MixtureLoader(options, *memory));
  RETURN_IF_ERROR(loader->OpenSources(sources));
  loader->StartThreads();
  return loader;
}

absl::Status MixtureLoader::OpenSources(
    const std::vector<MixtureSource>& sources) {
  const MixtureSpec& spec = options_.spec;
  const bool fail = spec.on_error == "fail";
  std::vector<std::unique_ptr<DatasetStream>> streams;
  for (size_t i = 0; i < sources.size(); ++i) {
    DatasetStreamOptions stream = PlannedStream(spec, options_.seed, i);
    stream.episode.metadata = metadata_mode_;
    stream.ahead = AheadOf(spec);
    stream.fail = fail;
    const auto number = static_cast<int64_t>(i);
    streams.push_back(std::make_unique<DatasetStream>(
        sources[i].name, sources[i].shards, stream,
        [this, number](const std::string& name, const std::string& reason) {
          faults_.Add({0, number, name, reason});
        }));
  }
  std::vector<absl::Status> opened(streams.size());
  ParallelFor(streams.size(), spec.pipeline_interleave,
              [&](int64_t i) { opened[i] = OpenFirst(streams[i].get()); });
  std::vector<double> weights;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (!opened[i].ok()) {
      if (fail || !absl::IsFailedPrecondition(opened[i])) {
        return opened[i];
      }
      left_out_.push_back(sources[i].name);
      faults_.Add({0, static_cast<int64_t>(i), sources[i].name,
                   std::string(opened[i].message())});
      continue;
    }
    weights.push_back(sources[i].weight);
    source_numbers_.push_back(static_cast<int>(i));
    streams_.push_back(std::move(streams[i]));
  }
  if (streams_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no data set is left of ", sources.size(),
        "; the first: ", opened.empty() ? "" : opened[0].message()));
  }
  order_ =
      std::make_unique<MixOrder>(PlannedOrder(weights, spec, options_.seed));
  return absl::OkStatus();
}

absl::Status MixtureLoader::OpenFirst(DatasetStream* stream) {
  for (;;) {
    const std::shared_ptr<DatasetStream::Opening> opening = stream->Begin();
    if (opening != nullptr) {
      opening->Run();
      stream->Opened(opening);
    }
    ASSIGN_OR_RETURN(const bool settled, stream->Settle());
    if (settled) return absl::OkStatus();
  }
}

void MixtureLoader::StartThreads() {
  std::vector<float*> buffers;
  for (const auto& block : memory_.blocks()) buffers.push_back(block->data());
  metadata_.resize(buffers.size());
  if (metadata_mode_ != MetadataMode::kNone) {
    for (auto& samples : metadata_) samples.resize(options_.spec.batch_size);
  }
  if (options_.count > 0) ring_.SetBuffers(buffers);
  requests_ = std::make_unique<BoundedQueue<int>>(streams_.size());
  requested_.assign(streams_.size(), false);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < streams_.size(); ++i) Request(static_cast<int>(i));
  }
  readers_ = std::make_unique<WorkerTeam>(options_.spec.pipeline_interleave);
  readers_->Start([this](int) { Read(); });
  for (int i = 0; i < DecodersOf(options_.spec); ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  decoders_ = std::make_unique<WorkerTeam>(static_cast<int>(workers_.size()));
  decoders_->Start([this](int i) { Decode(workers_[i].get()); });
}

void MixtureLoader::Stop() {
  if (requests_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  ring_.End(absl::OkStatus());
  requests_->Close();
  opened_.notify_all();
  readers_.reset();
  decoders_.reset();
  requests_.reset();
  for (const auto& worker : workers_) worker->tasks.clear();
  for (const auto& stream : streams_) stream->Close();
}

// Called with mutex_ held.
void MixtureLoader::Request(int dataset) {
  if (requested_[dataset]) return;
  requested_[dataset] = true;
  // There is room for each once: it does not wait.
  requests_->Push(dataset);
}

void MixtureLoader::Read() {
  while (const std::optional<int> dataset = requests_->Pop()) {
    std::unique_lock<std::mutex> lock(mutex_);
    requested_[*dataset] = false;
    while (!ended_ && OpenOne(streams_[*dataset].get(), &lock)) {
    }
  }
}

bool MixtureLoader::OpenOne(DatasetStream* stream,
                            std::unique_lock<std::mutex>* lock) {
  const std::shared_ptr<DatasetStream::Opening> opening = stream->Begin();
  if (opening == nullptr) return false;
  lock->unlock();
  const int64_t begin = MonotonicNs();
  opening->Run();
  const int64_t took = MonotonicNs() - begin;
  lock->lock();
  read_ns_ += took;
  stream->Opened(opening);
  opened_.notify_all();
  return true;
}

absl::StatusOr<const MixtureBatch*> MixtureLoader::Next() {
  ASSIGN_OR_RETURN(const LoaderBatch* const batch, ring_.Next());
  if (batch == nullptr) return nullptr;
  batch_.index = batch->index;
  batch_.size = batch->size;
  batch_.frames = reinterpret_cast<const uint8_t*>(batch->data);
  batch_.shape = shape_;
  batch_.datasets = &batch->items;
  batch_.metadata = metadata_mode_ == MetadataMode::kNone
                        ? nullptr
                        : metadata_[batch->index % metadata_.size()].data();
  return &batch_;
}

std::vector<StageReport> MixtureLoader::stages() const {
  const auto s = [](int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  StageReport decode;
  decode.name = "decode";
  for (const auto& worker : workers_) {
    decode.busy_s += s(worker->decode_ns);
    decode.wait_in_s += s(worker->wait_in_ns);
    decode.wait_out_s += s(worker->wait_out_ns);
  }
  decode.queue_fill = ring_.MeanFill();
  StageReport read;
  read.name = "read";
  const std::lock_guard<std::mutex> lock(mutex_);
  read.busy_s = s(read_ns_);
  return {read, decode};
}

int64_t MixtureLoader::memory_bound_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto decoders = static_cast<int64_t>(workers_.size());
  const int ahead = AheadOf(options_.spec);
  int64_t bytes = memory_.bytes() + decoders * kDecoderBytes;
  int64_t largest = 0;
  for (const auto& stream : streams_) {
    bytes += ahead * stream->largest_bytes();
    largest = std::max(largest, stream->largest_bytes());
  }
  // Of the episodes in use, and of those that decoders are still at.
  const auto kept_frames =
      static_cast<int64_t>(KeptFrames::kMost * (streams_.size() + decoders));
  bytes += kept_frames * static_cast<int64_t>(shape_.bytes());
  // Decoders may be at one that its stream has done with.
  return bytes + decoders * largest;
}

}  // namespace feedrate
