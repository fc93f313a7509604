#include "lib/adapters/ffmpeg/clip_loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/ffmpeg/clip_recipe.h"
#include "lib/adapters/worker/time_epoch.h"
#include "lib/base/status_macros.h"
#include "lib/worker/loader_message.h"
#include "opencv2/core.hpp"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

using Recipes = std::vector<std::unique_ptr<ClipRecipe>>;
using Buffers = std::vector<std::vector<float>>;

// The library throws what it does not like.
absl::Status TryLoad(ClipRecipe* recipe, int64_t item, uint64_t seed,
                     float* out) {
  try {
    return recipe->Load(item, seed, out);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

uint64_t SeedOfItem(uint64_t seed, int64_t item) {
  return seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(item);
}

class ClipStream : public BatchStream {
 public:
  ClipStream(const LoaderSpec& spec, const EpochCommand& command,
             const LoaderInput& input, const Recipes& recipes, Buffers* buffers)
      : spec_(spec),
        command_(command),
        input_(input),
        recipes_(recipes),
        buffers_(*buffers),
        items_(recipes[0]->items()),
        batches_((command.count + spec.batch_size - 1) / spec.batch_size),
        loaded_(batches_),
        failed_(command.count) {
    for (const std::unique_ptr<ClipRecipe>& recipe : recipes) {
      threads_.emplace_back([this, &recipe] { Work(recipe.get()); });
    }
  }

  ~ClipStream() override { Stop(); }

  absl::StatusOr<Batch> Next() override {
    std::unique_lock<std::mutex> lock(mutex_);
    // What was delivered before is done with.
    released_ = next_;
    changed_.notify_all();
    while (next_ < batches_) {
      const int64_t batch = next_;
      const int64_t size = SizeOf(batch);
      changed_.wait(lock,
                    [&] { return loaded_[batch] == size || !failure_.ok(); });
      RETURN_IF_ERROR(failure_);
      next_ = batch + 1;
      if (size < spec_.batch_size && spec_.drop_last) break;
      const int64_t whole = Compact(batch, size);
      if (whole > 0) {
        return Batch{whole, whole * recipes_[0]->values() *
                                static_cast<int64_t>(sizeof(float))};
      }
      // Nothing of it could be used.
      released_ = next_;
      changed_.notify_all();
    }
    return Batch();
  }

  absl::Status Finish(EpochReply* reply) override {
    Stop();
    reply->errors_total = errors_total_;
    reply->errors = errors_;
    return absl::OkStatus();
  }

 private:
  int64_t SizeOf(int64_t batch) const {
    return std::min(spec_.batch_size,
                    command_.count - batch * spec_.batch_size);
  }
  float* PlaceOf(int64_t number) {
    const int64_t batch = number / spec_.batch_size;
    return buffers_[batch % buffers_.size()].data() +
           number % spec_.batch_size * recipes_[0]->values();
  }

  // Closes the gaps that failed items left. Returns how many are whole.
  int64_t Compact(int64_t batch, int64_t size) {
    int64_t whole = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t number = batch * spec_.batch_size + i;
      if (failed_[number]) continue;
      if (whole < i) {
        std::memcpy(PlaceOf(batch * spec_.batch_size + whole), PlaceOf(number),
                    recipes_[0]->values() * sizeof(float));
      }
      ++whole;
    }
    return whole;
  }

  // The next item's number, once there is room for its batch. -1: none.
  int64_t Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopped_ || taken_ == command_.count) return -1;
    const int64_t number = taken_++;
    const int64_t batch = number / spec_.batch_size;
    const auto room = static_cast<int64_t>(buffers_.size());
    changed_.wait(lock, [&] { return stopped_ || batch < released_ + room; });
    return stopped_ ? -1 : number;
  }

  void Work(ClipRecipe* recipe) {
    for (int64_t number; (number = Take()) >= 0;) {
      const int64_t item = (command_.first + number) % items_;
      const absl::Status loaded = TryLoad(
          recipe, item, SeedOfItem(command_.seed, item), PlaceOf(number));
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!loaded.ok()) Fail(number, item, loaded);
      ++loaded_[number / spec_.batch_size];
      changed_.notify_all();
    }
  }

  // REQUIRES: mutex_ is held.
  void Fail(int64_t number, int64_t item, const absl::Status& status) {
    failed_[number] = true;
    const std::string path =
        input_.corpus != nullptr ? "" : input_.files[item].path;
    ++errors_total_;
    if (errors_.size() < kMaxNamedErrors) {
      errors_.push_back({item, path, std::string(status.message())});
    }
    if (spec_.on_error == "fail" && failure_.ok()) {
      failure_ = absl::InvalidArgumentError(
          absl::StrCat(path, ": ", status.message()));
    }
  }

  void Stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const LoaderSpec& spec_;
  const EpochCommand command_;
  const LoaderInput& input_;
  const Recipes& recipes_;
  Buffers& buffers_;
  const int64_t items_;
  const int64_t batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Items of each batch that are done, whether whole or not.
  std::vector<int64_t> loaded_;
  std::vector<bool> failed_;
  int64_t taken_ = 0;
  int64_t next_ = 0;
  // Batches that the consumer has done with.
  int64_t released_ = 0;
  bool stopped_ = false;
  absl::Status failure_;
  std::vector<LoaderError> errors_;
  int64_t errors_total_ = 0;
  std::vector<std::thread> threads_;
};

absl::Status CheckSpec(const LoaderSpec& spec) {
  if (spec.channels != 3) {
    return absl::InvalidArgumentError("clips have three channels");
  }
  if (!spec.batch_transform.empty() || !spec.ablation.empty() || spec.shuffle ||
      spec.scope == kCopyScope) {
    return absl::InvalidArgumentError(
        "the loader of clips has no batch transforms, ablations, shuffling or "
        "copies to a device");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClipLoader>> ClipLoader::Make(
    const TransformSpec& spec, const LoaderInput& input) {
  const LoaderSpec& loader = *spec.loader;
  RETURN_IF_ERROR(CheckSpec(loader));
  // Threads are ours; OpenCV's own would fight with them.
  cv::setNumThreads(0);
  std::unique_ptr<ClipLoader> made(new ClipLoader(spec, input));
  for (int i = 0; i < std::max(1, loader.workers); ++i) {
    ASSIGN_OR_RETURN(made->recipes_.emplace_back(),
                     ClipRecipe::Make(made->spec_, input));
  }
  // The one that the consumer has, and those ahead of it.
  made->buffers_.resize(1 + std::max(1, loader.prefetch));
  for (std::vector<float>& buffer : made->buffers_) {
    buffer.resize(loader.batch_size * made->recipes_[0]->values());
  }
  return made;
}

absl::StatusOr<EpochReply> ClipLoader::RunEpoch(const EpochCommand& command) {
  return TimeEpoch(command, [&] {
    return std::make_unique<ClipStream>(*spec_.loader, command, input_,
                                        recipes_, &buffers_);
  });
}

absl::StatusOr<Output> ClipLoader::OutputFor(int64_t item, uint64_t seed) {
  ClipRecipe* const recipe = recipes_[0].get();
  output_.resize(recipe->values());
  RETURN_IF_ERROR(TryLoad(recipe, item % recipe->items(),
                          SeedOfItem(seed, item % recipe->items()),
                          output_.data()));
  Output output;
  output.data = output_.data();
  output.bytes = static_cast<int64_t>(output_.size() * sizeof(float));
  output.dtype = "float32";
  output.layout = "TCHW";
  output.shape = {recipe->frames(), 3, spec_.loader->crop, spec_.loader->crop};
  return output;
}

}  // namespace feedrate
