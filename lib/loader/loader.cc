#include "lib/loader/loader.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/internal/worker_team.h"
#include "lib/loader/jpeg_index.h"
#include "lib/loader/read_ahead/read_ahead.h"
#include "lib/loader/sample/sample_maker.h"
#include "lib/loader/store_parts.h"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

absl::Status CheckOptions(const LoaderOptions& options) {
  if (options.batch_size < 1 || options.workers < 0 || options.buffers < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a loader needs batch_size and buffers above 0 and "
        "workers not below; these are ",
        options.batch_size, ", ", options.buffers, " and ", options.workers));
  }
  return CheckMix(options.mix, options.recipe.format);
}

Recipe RecipeOf(const LoaderOptions& options) {
  Recipe recipe = options.recipe;
  if (options.ablation == Ablation::kNoAugment) {
    recipe.steps.resize(recipe.first_step_crops ? 1 : 0);
  }
  return recipe;
}

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

}  // namespace

Loader::Loader(std::unique_ptr<Source> source, const LoaderOptions& options,
               std::unique_ptr<BatchMemory> memory)
    : source_(std::move(source)),
      options_(options),
      memory_(memory == nullptr ? PageMemory() : std::move(memory)) {
  // A consumer that asks for a batch while it has one gives two back.
  pool_ = std::make_shared<BlockPool>(
      memory_->is_foreign() ? 0 : options.buffers + 2);
  for (int i = 0; i < std::max(1, options.workers); ++i) {
    read_buffers_.push_back(std::make_unique<ReadBuffer>());
  }
}

Loader::~Loader() = default;

int64_t Loader::samples() const {
  return made_ != nullptr ? made_->samples() : source_->size();
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    std::unique_ptr<BatchMemory> memory, std::unique_ptr<DeviceCopy> copy) {
  RETURN_IF_ERROR(CheckOptions(options));
  // OpenCV's own threads inside each worker would only interfere.
  cv::setNumThreads(0);
  std::unique_ptr<Loader> loader(
      new Loader(std::move(source), options, std::move(memory)));
  loader->copy_ = std::move(copy);
  for (int i = 0; i < loader->threads(); ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<SampleMaker> maker,
                     SampleMaker::Create(RecipeOf(options)));
    // Loader workers that would wait, for all samples that there is room for
    // are being made.
    maker->set_threads(static_cast<int>(
        options.workers / (int64_t{options.batch_size} * options.buffers)));
    loader->makers_.push_back(std::move(maker));
  }
  loader->shape_ = loader->makers_[0]->shape();
  RETURN_IF_ERROR(loader->OpenIndex(RecipeOf(options)));
  return loader;
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(
    std::unique_ptr<MadeSource> source, const LoaderOptions& options,
    std::unique_ptr<BatchMemory> memory) {
  RETURN_IF_ERROR(CheckOptions(options));
  cv::setNumThreads(0);
  MadeSource* const made = source.get();
  std::unique_ptr<Loader> loader(
      new Loader(std::move(source), options, std::move(memory)));
  loader->made_ = made;
  if (made->sample_bytes() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a sample would have ", made->sample_bytes(), " bytes; ask for less"));
  }
  loader->shape_ = {1, 1, static_cast<int>(made->sample_bytes()),
                    SampleFormat::kBytePixels};
  for (int i = 0; i < loader->threads(); ++i) {
    loader->item_makers_.push_back(made->NewMaker());
  }
  return loader;
}

int64_t Loader::CountOf(EpochRange range) const {
  int64_t count = range.count < 0 ? source_->size() : range.count;
  if (source_->size() == 0) count = 0;
  return options_.drop_last ? count - count % options_.batch_size : count;
}

absl::Status Loader::ReserveCount(int64_t count) {
  // A source lays out full batches.
  const int64_t samples = memory_->is_foreign() || made_ != nullptr
                              ? options_.batch_size
                              : std::min<int64_t>(options_.batch_size, count);
  if (samples > block_samples_) blocks_.clear();
  block_samples_ = std::max(block_samples_, samples);
  const int64_t batches =
      (count + options_.batch_size - 1) / options_.batch_size;
  const int64_t needed = std::min<int64_t>(options_.buffers, batches);
  while (static_cast<int64_t>(blocks_.size()) < needed) {
    ASSIGN_OR_RETURN(std::unique_ptr<MemoryBlock> block,
                     memory_->Allocate(block_bytes()));
    blocks_.push_back(std::move(block));
  }
  if (copy_ == nullptr || samples == 0) return absl::OkStatus();
  return copy_->Reserve(block_bytes());
}

absl::StatusOr<std::unique_ptr<Epoch>> Loader::StartEpoch(int64_t epoch,
                                                          EpochRange range) {
  return StartEpoch(options_.seed, epoch, range);
}

absl::StatusOr<std::unique_ptr<Epoch>> Loader::StartEpoch(uint64_t seed,
                                                          int64_t epoch,
                                                          EpochRange range) {
  if (range.first < 0) {
    return absl::InvalidArgumentError("an epoch begins with an item below 0");
  }
  RETURN_IF_ERROR(ReserveFor(range));
  const int64_t count = CountOf(range);
  // Shuffled before drop_last, so that each epoch drops other items.
  ItemOrder order(range.first,
                  range.count < 0 || count == 0 ? source_->size() : range.count,
                  source_->size(), options_.shuffle, seed, epoch);
  order.Cut(count);
  std::unique_ptr<Epoch> started(
      new Epoch(this, seed, epoch, std::move(order),
                RingOptions(*this, seed, epoch, count)));
  RETURN_IF_ERROR(started->Start());
  return started;
}

absl::StatusOr<std::unique_ptr<Epoch>> Loader::StartShare(
    uint64_t seed, int64_t epoch, const EpochShare& share) {
  if (share.start < 0 || share.rank < 0 || share.rank >= share.world) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a share needs a start not below 0 and a rank from 0 to world - 1; "
        "these are ",
        share.start, ", ", share.rank, " and ", share.world));
  }
  const int64_t count = share.Count(samples(), options_.batch_size);
  RETURN_IF_ERROR(ReserveCount(count));
  BatchRingOptions ring = RingOptions(*this, seed, epoch, count);
  ring.splits_last = share.Splits(samples(), options_.batch_size) &&
                     count % options_.batch_size == 0;
  // By the place of the batch in the epoch, wherever this share starts.
  ring.first_mix = share.start + share.rank;
  ring.mix_step = share.world * options_.batch_size;
  ItemOrder order =
      made_ == nullptr || !made_->has_order()
          ? ItemOrder(share, count, samples(), options_.shuffle, seed, epoch)
          : ItemOrder(share, count, samples(),
                      [made = made_, epoch](int64_t place) {
                        return made->ItemAt(epoch, place);
                      });
  std::unique_ptr<Epoch> started(
      new Epoch(this, seed, epoch, std::move(order), ring));
  RETURN_IF_ERROR(started->Start());
  return started;
}

absl::Status Loader::MakeSample(uint64_t seed, int64_t epoch, int64_t item,
                                void* out) {
  if (item < 0 || item >= source_->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no item ", item, "; the source has ", source_->size()));
  }
  SampleTimes times;
  const uint64_t item_seed = ItemSeed(seed, epoch, item);
  if (made_ != nullptr) {
    return item_makers_[0]->Make(item, item_seed, {}, out, 0);
  }
  if (source_->in_memory()) {
    return makers_[0]->FromPixels(source_->Pixels(item), item_seed, out,
                                  &times);
  }
  ASSIGN_OR_RETURN(const absl::string_view bytes,
                   source_->Read(item, read_buffers_[0].get()));
  return MakeFromBytes(makers_[0].get(), item, bytes, item_seed, out, &times);
}

namespace {

// This many bad items in a row mean that the data set is of another kind.
constexpr int64_t kMostReplacements = 100;

// Releases a position in any case.
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

// Times of one worker, on a cache line of its own.
struct alignas(64) Epoch::WorkerTimes {
  SampleTimes sample;
  int64_t read_ns = 0;  // Reading replacements of bad items.
  int64_t mix_ns = 0;
  int64_t wait_in_ns = 0;
  int64_t wait_out_ns = 0;
};

Epoch::Epoch(Loader* loader, uint64_t seed, int64_t epoch, ItemOrder order,
             const BatchRingOptions& ring)
    : loader_(loader),
      seed_(seed),
      epoch_(epoch),
      order_(std::move(order)),
      ring_(ring),
      times_(loader->threads()) {}

Epoch::~Epoch() { Stop(); }

int Epoch::threads() const {
  return static_cast<int>(times_.size()) + (copied_ != nullptr ? 1 : 0);
}

absl::Status Epoch::Start() {
  std::vector<float*> buffers;
  for (const auto& block : loader_->blocks_) buffers.push_back(block->data());
  if (order_.count() > 0) ring_.SetBuffers(buffers);
  const LoaderOptions& options = loader_->options();
  if (!loader_->source().in_memory()) {
    FindPart find_part;
    if (loader_->parts_ != nullptr && options.ablation != Ablation::kNoDecode) {
      find_part = [this](int64_t item) {
        return loader_->parts_->Find(item, ItemSeed(seed_, epoch_, item));
      };
    }
    ASSIGN_OR_RETURN(
        reads_, StartReadAhead(options.read_ahead, loader_->source(), order_,
                               std::move(find_part)));
  }
  if (options.workers > 0) {
    std::unique_ptr<WorkerTeam>& team = loader_->team_;
    if (team == nullptr) {
      ASSIGN_OR_RETURN(team, WorkerTeam::Make(options.workers));
    }
    team->Start([this](int worker) { Work(worker); });
  }
  if (loader_->copy_ != nullptr) StartCopying();
  return absl::OkStatus();
}

void Epoch::Stop() {
  if (stopped_) return;
  stopped_ = true;
  ring_.End(absl::OkStatus());
  const CancelledReads cancelled(loader_->source());
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
  loader_->SaveIndex();
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

absl::StatusOr<std::unique_ptr<KeptBatch>> Epoch::NextKept() {
  if (stopped_) return nullptr;
  ASSIGN_OR_RETURN(const LoaderBatch* batch, NextOnHost());
  if (batch == nullptr) return nullptr;
  const size_t bytes = loader_->block_bytes();
  ASSIGN_OR_RETURN(std::unique_ptr<MemoryBlock> block,
                   loader_->pool_->Take(bytes, loader_->memory_.get()));
  std::vector<std::unique_ptr<MemoryBlock>>& blocks = loader_->blocks_;
  std::swap(block, blocks[batch->index % blocks.size()]);
  ring_.ReplaceMemory(blocks[batch->index % blocks.size()]->data());
  auto kept = std::make_unique<KeptBatch>(*batch, std::move(block), bytes,
                                          loader_->pool_);
  // Not only when the epoch ends: its owner may end without it.
  const bool is_last =
      (batch->index + 1) * loader_->options().batch_size >= order_.count();
  ring_.GiveBack();
  if (is_last) loader_->SaveIndex();
  return kept;
}

void Epoch::Work(int worker) {
  while (!ring_.ended()) {
    const int64_t position =
        next_position_.fetch_add(1, std::memory_order_relaxed);
    if (position >= order_.count()) return;
    MakeAt(worker, position);
  }
}

// Any error or exception ends the epoch.
void Epoch::MakeAt(int worker, int64_t position) {
  void* const out = ring_.Slot(position, &times_[worker].wait_out_ns);
  if (out == nullptr) return;
  try {
    const absl::Status status = MakeSlot(worker, position, out);
    if (!status.ok()) ring_.End(status);
  } catch (const std::exception& error) {
    ring_.End(Named(order_.Item(position), absl::StatusCode::kInternal,
                    absl::StrCat("the transform threw: ", error.what())));
  } catch (...) {
    ring_.End(Named(order_.Item(position), absl::StatusCode::kInternal,
                    "the transform threw something that is not an exception"));
  }
}

absl::Status Epoch::MakeSlot(int worker, int64_t position, void* out) {
  WorkerTimes& times = times_[worker];
  const int64_t item = order_.Item(position);
  if (loader_->options().ablation == Ablation::kCachedBatch) {
    ring_.Done(position, item, &times.mix_ns);
    return absl::OkStatus();
  }
  const absl::Status status = reads_ == nullptr
                                  ? MakeItem(worker, position, item, {}, out)
                                  : MakeFromReads(worker, position, out);
  if (!status.ok()) {
    // Stopped while waiting: nobody needs the sample.
    if (absl::IsCancelled(status)) return absl::OkStatus();
    // A reader threw; the file is not at fault.
    if (absl::IsInternal(status)) {
      return Named(item, status.code(), status.message());
    }
    return MakeReplacement(worker, position, status, out);
  }
  ring_.Done(position, item, &times.mix_ns);
  return absl::OkStatus();
}

absl::Status Epoch::MakeFromReads(int worker, int64_t position, void* out) {
  const Released released(reads_.get(), position);
  const bool ahead = reads_->method() != ReadMethod::kInline;
  const int64_t begin = ahead ? MonotonicNs() : 0;
  absl::StatusOr<absl::string_view> bytes =
      reads_->Take(position, loader_->read_buffers_[worker].get());
  if (ahead) times_[worker].wait_in_ns += MonotonicNs() - begin;
  const int64_t item = order_.Item(position);
  const JpegPart* const part = ahead ? reads_->PartAt(position) : nullptr;
  if (part != nullptr) {
    absl::Status made = bytes.status();
    if (made.ok()) {
      made = loader_->makers_[worker]->FromBytes(
          *bytes, part->entries(), ItemSeed(seed_, epoch_, item), out,
          &times_[worker].sample, /*is_part=*/true);
    }
    if (!absl::IsDataLoss(made)) return made;
    loader_->parts_->Misfit();
    bytes = loader_->source().Read(item, loader_->read_buffers_[worker].get());
  }
  RETURN_IF_ERROR(bytes.status());
  return MakeItem(worker, position, item, *bytes, out);
}

// The next item replaces a bad one. The choice depends on the data alone, not
// on timing.
absl::Status Epoch::MakeReplacement(int worker, int64_t position,
                                    const absl::Status& first, void* out) {
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
    const int64_t item = Instead(bad, i);
    absl::StatusOr<absl::string_view> bytes = absl::string_view();
    if (!source.in_memory()) {
      const int64_t begin = MonotonicNs();
      bytes = source.Read(item, buffer);
      times.read_ns += MonotonicNs() - begin;
    }
    if (bytes.ok() && MakeItem(worker, position, item, *bytes, out).ok()) {
      ring_.Done(position, item, &times.mix_ns);
      return absl::OkStatus();
    }
    if (ring_.ended()) return absl::OkStatus();
  }
  return Named(bad, first.code(),
               absl::StrCat(first.message(), "; and none of the ", tries,
                            " items behind it can be used either"));
}

int64_t Epoch::Instead(int64_t bad, int64_t attempt) const {
  return loader_->made_ != nullptr ? loader_->made_->Replacement(bad, attempt)
                                   : (bad + attempt) % loader_->source().size();
}

absl::Status Epoch::MakeItem(int worker, int64_t position, int64_t item,
                             absl::string_view bytes, void* out) {
  const uint64_t seed = ItemSeed(seed_, epoch_, item);
  if (loader_->made_ != nullptr) {
    const int64_t begin = MonotonicNs();
    const absl::Status made = loader_->item_makers_[worker]->Make(
        item, seed, bytes, ring_.Batch(position), ring_.PlaceOf(position));
    times_[worker].sample.decode_ns += MonotonicNs() - begin;
    return made;
  }
  SampleMaker& maker = *loader_->makers_[worker];
  SampleTimes* const times = &times_[worker].sample;
  if (reads_ == nullptr) {
    return maker.FromPixels(loader_->source().Pixels(item), seed, out, times);
  }
  if (loader_->options().ablation == Ablation::kNoDecode) {
    return maker.FromFirst(bytes, seed, out, times);
  }
  return loader_->MakeFromBytes(&maker, item, bytes, seed, out, times);
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

double Epoch::sync_s() const {
  int64_t ns = copy_ns_;
  for (const WorkerTimes& times : times_) ns += times.wait_out_ns;
  return static_cast<double>(ns) * 1e-9;
}

// The copy stage: a thread between the batches and the consumer.

void Epoch::StartCopying() {
  const int slots = loader_->copy_->slots();
  copied_ = std::make_unique<BoundedQueue<Copied>>(slots);
  free_slots_ = std::make_unique<BoundedQueue<int>>(slots);
  for (int slot = 0; slot < slots; ++slot) free_slots_->Push(slot);
  copier_ = std::thread([this] { CopyAll(); });
}

void Epoch::CopyAll() {
  for (;;) {
    const int64_t begin = MonotonicNs();
    const std::optional<int> slot = free_slots_->Pop();
    const int64_t got_slot = MonotonicNs();
    copy_wait_out_ns_ += got_slot - begin;
    if (!slot.has_value()) break;
    const absl::StatusOr<const LoaderBatch*> batch = NextOnHost();
    copy_wait_in_ns_ += MonotonicNs() - got_slot;
    copy_status_ = batch.status();
    if (!batch.ok() || *batch == nullptr) break;
    copy_status_ = CopyOne(*slot, **batch);
    if (!copy_status_.ok()) break;
  }
  copied_->Close();
}

absl::Status Epoch::CopyOne(int slot, const LoaderBatch& batch) {
  const int64_t begin = MonotonicNs();
  Copied copied;
  copied.batch = batch;
  copied.slot = slot;
  ASSIGN_OR_RETURN(copied.batch.data,
                   loader_->copy_->Copy(batch.data, batch.bytes(), slot));
  copy_ns_ += MonotonicNs() - begin;
  ring_.GiveBack();
  copied_->Push(std::move(copied));
  return absl::OkStatus();
}

absl::StatusOr<const LoaderBatch*> Epoch::NextCopied() {
  if (has_current_) free_slots_->Push(current_.slot);
  has_current_ = false;
  std::optional<Copied> next = copied_->Pop();
  if (!next.has_value()) {
    if (!copy_status_.ok()) return copy_status_;
    return nullptr;
  }
  current_ = *std::move(next);
  has_current_ = true;
  return &current_.batch;
}

}  // namespace feedrate
