#include "lib/loader/loader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/epoch.h"
#include "lib/loader/item_order.h"
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
  if (!(options.mix.alpha > 0)) {
    return absl::InvalidArgumentError("mixing needs alpha above 0");
  }
  return absl::OkStatus();
}

Recipe RecipeOf(const LoaderOptions& options) {
  Recipe recipe = options.recipe;
  if (options.ablation == Ablation::kNoAugment) {
    recipe.steps.resize(recipe.first_step_crops ? 1 : 0);
  }
  return recipe;
}

}  // namespace

Loader::Loader(std::unique_ptr<Source> source, const LoaderOptions& options)
    : source_(std::move(source)), options_(options) {}

Loader::~Loader() = default;

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    std::unique_ptr<BatchMemory> memory, std::unique_ptr<DeviceCopy> copy) {
  RETURN_IF_ERROR(CheckOptions(options));
  // Threads of OpenCV's own inside each worker would only get in the way.
  cv::setNumThreads(0);
  std::unique_ptr<Loader> loader(new Loader(std::move(source), options));
  loader->memory_ = memory == nullptr ? PageMemory() : std::move(memory);
  loader->copy_ = std::move(copy);
  for (int i = 0; i < std::max(1, options.workers); ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<SampleMaker> maker,
                     SampleMaker::Create(RecipeOf(options)));
    loader->makers_.push_back(std::move(maker));
    loader->read_buffers_.push_back(std::make_unique<ReadBuffer>());
  }
  return loader;
}

int64_t Loader::CountOf(EpochRange range) const {
  int64_t count = range.count < 0 ? source_->size() : range.count;
  if (source_->size() == 0) count = 0;
  return options_.drop_last ? count - count % options_.batch_size : count;
}

absl::Status Loader::ReserveFor(EpochRange range) {
  const int64_t count = CountOf(range);
  const int64_t samples = std::min<int64_t>(options_.batch_size, count);
  if (samples > block_samples_) blocks_.clear();
  block_samples_ = std::max(block_samples_, samples);
  const int64_t batches =
      (count + options_.batch_size - 1) / options_.batch_size;
  const int64_t needed = std::min<int64_t>(options_.buffers, batches);
  while (static_cast<int64_t>(blocks_.size()) < needed) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<MemoryBlock> block,
        memory_->Allocate(block_samples_ * shape().values() * sizeof(float)));
    blocks_.push_back(std::move(block));
  }
  if (copy_ == nullptr || samples == 0) return absl::OkStatus();
  return copy_->Reserve(block_samples_ * shape().values() * sizeof(float));
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
  range.count = CountOf(range);
  std::unique_ptr<Epoch> started(new Epoch(this, seed, epoch, range));
  RETURN_IF_ERROR(started->Start());
  return started;
}

absl::Status Loader::MakeSample(uint64_t seed, int64_t epoch, int64_t item,
                                float* out) {
  if (item < 0 || item >= source_->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no item ", item, "; the source has ", source_->size()));
  }
  SampleTimes times;
  const uint64_t item_seed = ItemSeed(seed, epoch, item);
  if (source_->in_memory()) {
    return makers_[0]->FromPixels(source_->Pixels(item), item_seed, out,
                                  &times);
  }
  ASSIGN_OR_RETURN(const absl::string_view bytes,
                   source_->Read(item, read_buffers_[0].get()));
  return makers_[0]->FromBytes(bytes, item_seed, out, &times);
}

}  // namespace feedrate
