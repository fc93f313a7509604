#include "lib/loader/epoch.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// So many bad items in a row are no accident, but a data set of another kind.
constexpr int64_t kMostReplacements = 100;

BatchRingOptions RingOptions(const Loader& loader, uint64_t seed, int64_t epoch,
                             int64_t count) {
  BatchRingOptions options;
  options.shape = loader.shape();
  options.batch_size = loader.options().batch_size;
  options.count = count;
  options.mix = loader.options().mix;
  options.seed = seed;
  options.epoch = epoch;
  return options;
}

// Gives a position back to the readers, whatever happens.
class Released {
 public:
  Released(ReadAhead* reads, int64_t position)
      : reads_(reads), position_(position) {}
  ~Released() { reads_->Release(position_); }

 private:
  ReadAhead* reads_;
  int64_t position_;
};

}  // namespace

Epoch::Epoch(Loader* loader, uint64_t seed, int64_t epoch, EpochRange range)
    : loader_(loader),
      seed_(seed),
      epoch_(epoch),
      order_(range.first, range.count, loader->source().size(),
             loader->options().shuffle, seed, epoch),
      ring_(RingOptions(*loader, seed, epoch, range.count)),
      times_(loader->makers_.size()) {}

Epoch::~Epoch() { Stop(); }

absl::Status Epoch::Start() {
  std::vector<float*> buffers;
  for (const auto& block : loader_->blocks_) buffers.push_back(block->data());
  if (order_.count() > 0) ring_.SetBuffers(buffers);
  const LoaderOptions& options = loader_->options();
  if (!loader_->source().in_memory()) {
    ASSIGN_OR_RETURN(
        reads_, StartReadAhead(options.read_ahead, loader_->source(), order_));
  }
  if (options.workers > 0) {
    std::unique_ptr<WorkerTeam>& team = loader_->team_;
    if (team == nullptr) team = std::make_unique<WorkerTeam>(options.workers);
    team->Start([this](int worker) { Work(worker); });
  }
  if (loader_->copy_ != nullptr) StartCopying();
  return absl::OkStatus();
}

void Epoch::Stop() {
  if (stopped_) return;
  stopped_ = true;
  ring_.End(absl::OkStatus());
  if (reads_ != nullptr) reads_->Stop();
  if (copier_.joinable()) {
    free_slots_->Close();
    copied_->Close();
    copier_.join();
  }
  if (loader_->team_ != nullptr) {
    loader_->team_->Wait();
    if (!loader_->options().persistent) loader_->team_.reset();
  }
}

absl::StatusOr<const LoaderBatch*> Epoch::Next() {
  if (stopped_) return nullptr;
  return copier_.joinable() ? NextCopied() : NextOnHost();
}

absl::StatusOr<const LoaderBatch*> Epoch::NextOnHost() {
  if (loader_->options().workers == 0) {
    ring_.GiveBack();
    int64_t begin = 0, end = 0;
    if (ring_.NextRange(&begin, &end)) {
      for (; begin < end && !ring_.ended(); ++begin) MakeAt(0, begin);
    }
  }
  return ring_.Next();
}

void Epoch::Work(int worker) {
  while (!ring_.ended()) {
    const int64_t position =
        next_position_.fetch_add(1, std::memory_order_relaxed);
    if (position >= order_.count()) return;
    MakeAt(worker, position);
  }
}

// What goes wrong, thrown or not, ends the epoch.
void Epoch::MakeAt(int worker, int64_t position) {
  float* const out = ring_.Slot(position, &times_[worker].wait_out_ns);
  if (out == nullptr) return;
  try {
    const absl::Status status = MakeSlot(worker, position, out);
    if (!status.ok()) ring_.End(status);
  } catch (const std::exception& error) {
    ring_.End(Named(order_.Item(position), absl::StatusCode::kInternal,
                    absl::StrCat("the transform threw: ", error.what())));
  } catch (...) {
    ring_.End(Named(order_.Item(position), absl::StatusCode::kInternal,
                    "the transform threw something that is no exception"));
  }
}

absl::Status Epoch::MakeSlot(int worker, int64_t position, float* out) {
  WorkerTimes& times = times_[worker];
  const int64_t item = order_.Item(position);
  if (loader_->options().ablation == Ablation::kCachedBatch) {
    ring_.Done(position, item, &times.mix_ns);
    return absl::OkStatus();
  }
  const absl::Status status = reads_ == nullptr
                                  ? MakeItem(worker, item, {}, out)
                                  : MakeFromReads(worker, position, out);
  if (!status.ok()) {
    // Stopped while it waited: nobody wants the sample.
    if (absl::IsCancelled(status)) return absl::OkStatus();
    // Not the file's fault: a reader threw.
    if (absl::IsInternal(status)) {
      return Named(item, status.code(), status.message());
    }
    return MakeReplacement(worker, position, status, out);
  }
  ring_.Done(position, item, &times.mix_ns);
  return absl::OkStatus();
}

absl::Status Epoch::MakeFromReads(int worker, int64_t position, float* out) {
  const Released released(reads_.get(), position);
  const bool ahead = reads_->method() != ReadMethod::kInline;
  const int64_t begin = ahead ? MonotonicNs() : 0;
  absl::StatusOr<absl::string_view> bytes =
      reads_->Take(position, loader_->read_buffers_[worker].get());
  if (ahead) times_[worker].wait_in_ns += MonotonicNs() - begin;
  RETURN_IF_ERROR(bytes.status());
  return MakeItem(worker, order_.Item(position), *bytes, out);
}

// The item behind takes the place of a bad one: which one that is depends on
// the data alone, not on who is faster.
absl::Status Epoch::MakeReplacement(int worker, int64_t position,
                                    const absl::Status& first, float* out) {
  const int64_t bad = order_.Item(position);
  const Source& source = loader_->source();
  faults_.Add({position, bad, source.name(bad), std::string(first.message())});
  if (loader_->options().on_error == OnError::kFail) {
    return Named(bad, first.code(), first.message());
  }
  WorkerTimes& times = times_[worker];
  ReadBuffer* const buffer = loader_->read_buffers_[worker].get();
  const int64_t tries = std::min(kMostReplacements, source.size() - 1);
  for (int64_t i = 1; i <= tries; ++i) {
    const int64_t item = (bad + i) % source.size();
    absl::StatusOr<absl::string_view> bytes = absl::string_view();
    if (!source.in_memory()) {
      const int64_t begin = MonotonicNs();
      bytes = source.Read(item, buffer);
      times.read_ns += MonotonicNs() - begin;
    }
    if (bytes.ok() && MakeItem(worker, item, *bytes, out).ok()) {
      ring_.Done(position, item, &times.mix_ns);
      return absl::OkStatus();
    }
    if (ring_.ended()) return absl::OkStatus();
  }
  return Named(bad, first.code(),
               absl::StrCat(first.message(), "; and none of the ", tries,
                            " items behind it can be used either"));
}

absl::Status Epoch::MakeItem(int worker, int64_t item, absl::string_view bytes,
                             float* out) {
  SampleMaker& maker = *loader_->makers_[worker];
  const uint64_t seed = ItemSeed(seed_, epoch_, item);
  SampleTimes* const times = &times_[worker].sample;
  if (reads_ == nullptr) {
    return maker.FromPixels(loader_->source().Pixels(item), seed, out, times);
  }
  if (loader_->options().ablation == Ablation::kNoDecode) {
    return maker.FromFirst(bytes, seed, out, times);
  }
  return maker.FromBytes(bytes, seed, out, times);
}

absl::Status Epoch::Named(int64_t item, absl::StatusCode code,
                          absl::string_view reason) const {
  return absl::Status(code,
                      absl::StrCat(loader_->source().name(item), ": ", reason));
}

std::vector<StageReport> Epoch::stages() const {
  WorkerTimes sum;
  for (const WorkerTimes& times : times_) {
    sum.sample.decode_ns += times.sample.decode_ns;
    sum.sample.augment_ns += times.sample.augment_ns;
    sum.sample.collate_ns += times.sample.collate_ns;
    sum.read_ns += times.read_ns;
    sum.mix_ns += times.mix_ns;
    sum.wait_in_ns += times.wait_in_ns;
    sum.wait_out_ns += times.wait_out_ns;
  }
  const auto s = [](int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  std::vector<StageReport> stages;
  if (reads_ != nullptr) {
    const ReadAheadTimes read = reads_->times();
    stages.push_back({"read", s(read.busy_ns + sum.read_ns), 0,
                      s(read.wait_out_ns), read.fill});
    stages.push_back(
        {"decode", s(sum.sample.decode_ns), s(sum.wait_in_ns), 0, 0});
  }
  stages.push_back({"augment", s(sum.sample.augment_ns), 0, 0, 0});
  stages.push_back({"collate", s(sum.sample.collate_ns + sum.mix_ns), 0,
                    s(sum.wait_out_ns), ring_.MeanFill()});
  if (copied_ != nullptr) {
    stages.push_back({"copy", s(copy_ns_), s(copy_wait_in_ns_),
                      s(copy_wait_out_ns_), copied_->MeanFill()});
  }
  return stages;
}

}  // namespace feedrate
