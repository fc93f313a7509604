#include "lib/adapters/ffmpeg/ffmpeg_adapter.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/status_macros.h"
#include "lib/media/item_ids.h"
#include "lib/media/video/clip_reader.h"
#include "lib/ops/epoch_order.h"
#include "lib/ops/opencv/op.h"
#include "lib/ops/params.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"
#include "opencv2/core.hpp"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

class ClipDecoder : public PreparedTransform {
 public:
  ClipDecoder(int threads, const std::vector<SourceFile>& files)
      : threads_(threads), files_(files) {}

  // There is nothing to draw.
  void Seed(uint64_t seed) override {}

  void Run(int64_t item) override {
    const absl::Status decoded = Decode(files_[item]);
    if (decoded.ok()) return;
    throw std::runtime_error(
        absl::StrCat(files_[item].path, ": ", decoded.message()));
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    Output output;
    output.data = rgb_.data();
    output.bytes = static_cast<int64_t>(rgb_.size());
    output.dtype = "uint8";
    output.layout = "THWC";
    output.shape = {static_cast<int64_t>(files_[item].frames.size()), height_,
                    width_, 3};
    return output;
  }

 private:
  absl::Status Decode(const SourceFile& file) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                     ClipReader::Open(file.path, threads_));
    height_ = reader->info().height;
    width_ = reader->info().width;
    // Reuses the memory of the last clip.
    rgb_.resize(file.frames.size() * reader->FrameBytes());
    return reader->Read(file.frames, rgb_.data());
  }

  const int threads_;
  const std::vector<SourceFile>& files_;
  std::vector<uint8_t> rgb_;
  int height_ = 0;
  int width_ = 0;
};

constexpr int kChannels = 3;

// Written so that the compiler uses vector loads that separate three channels.
void ToPlanes(const uint8_t* __restrict in, int64_t pixels, const float* scale,
              const float* offset, float* __restrict red,
              float* __restrict green, float* __restrict blue) {
  const float scale_red = scale[0], offset_red = offset[0];
  const float scale_green = scale[1], offset_green = offset[1];
  const float scale_blue = scale[2], offset_blue = offset[2];
  for (int64_t i = 0; i < pixels; ++i) {
    red[i] = static_cast<float>(in[3 * i]) * scale_red + offset_red;
    green[i] = static_cast<float>(in[3 * i + 1]) * scale_green + offset_green;
    blue[i] = static_cast<float>(in[3 * i + 2]) * scale_blue + offset_blue;
  }
}

// Makes the tensor of a batch from a video or a decoded clip: decode, crop,
// transform, normalize. Each thread has its own; not thread-safe.
class ClipRecipe {
 public:
  // InvalidArgument names a parameter that is wrong. All outlive the result.
  static absl::StatusOr<std::unique_ptr<ClipRecipe>> Make(
      const PrepareCommand& spec, const LoaderInput& input);

  int64_t items() const;
  // Frames of a clip.
  int frames() const;
  // Floats of an item: frames x channels x crop x crop.
  int64_t values() const;

  // Writes the tensor of `item`: TCHW. The same seed gives the same tensor,
  // and every frame the same crop and the same draw of the transform.
  // InvalidArgument when the file cannot be used.
  absl::Status Load(int64_t item, uint64_t seed, float* out);

  // The id that all frames of a tensor show (lib/media/item_ids.h).
  std::optional<int64_t> IdOf(const float* tensor) const;

 private:
  ClipRecipe(const PrepareCommand& spec, const LoaderInput& input, Op op);
  // Decodes the frames of `item` to headers over memory that is valid until the
  // next call.
  absl::Status Decode(int64_t item);
  // Draws the crop for all frames; frames that are too small are padded first.
  cv::Rect DrawCrop(const cv::Size& size, Random* random) const;
  void Normalize(const cv::Mat& frame, float* out) const;

  const LoaderSpec& spec_;
  const LoaderInput& input_;
  const Op op_;
  std::vector<float> scale_;
  std::vector<float> offset_;
  std::vector<uint8_t> rgb_;
  std::vector<cv::Mat> frames_;
  cv::Mat padded_;
  cv::Mat cropped_;
  cv::Mat changed_;
};

ClipRecipe::ClipRecipe(const PrepareCommand& spec, const LoaderInput& input,
                       Op op)
    : spec_(spec.loader()), input_(input), op_(std::move(op)) {
  for (int c = 0; c < kChannels; ++c) {
    const double std = spec_.std(c % spec_.std_size());
    const double mean = spec_.mean(c % spec_.mean_size());
    scale_.push_back(static_cast<float>(1 / (spec_.input_scale() * std)));
    offset_.push_back(static_cast<float>(-mean / std));
  }
}

absl::StatusOr<std::unique_ptr<ClipRecipe>> ClipRecipe::Make(
    const PrepareCommand& spec, const LoaderInput& input) {
  ASSIGN_OR_RETURN(Op op, MakeOp(TransformOf(spec)));
  std::unique_ptr<ClipRecipe> recipe(
      new ClipRecipe(spec, input, std::move(op)));
  if (recipe->items() == 0 || recipe->frames() == 0) {
    return absl::InvalidArgumentError("there are no clips");
  }
  return recipe;
}

int64_t ClipRecipe::items() const {
  return input_.corpus != nullptr ? input_.corpus->size()
                                  : static_cast<int64_t>(input_.files.size());
}

int ClipRecipe::frames() const {
  return input_.corpus != nullptr
             ? input_.corpus->item(0).frames
             : static_cast<int>(input_.files[0].frames.size());
}

int64_t ClipRecipe::values() const {
  return int64_t{frames()} * kChannels * spec_.crop() * spec_.crop();
}

absl::Status ClipRecipe::Decode(int64_t item) {
  const uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  if (input_.corpus != nullptr) {
    const ItemView view = input_.corpus->item(item);
    data = static_cast<const uint8_t*>(view.data);
    height = view.height;
    width = view.width;
  } else {
    const SourceFile& file = input_.files[item];
    ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                     ClipReader::Open(file.path, 1));
    height = reader->info().height;
    width = reader->info().width;
    rgb_.resize(file.frames.size() * reader->FrameBytes());
    RETURN_IF_ERROR(reader->Read(file.frames, rgb_.data()));
    data = rgb_.data();
  }
  frames_.clear();
  for (int i = 0; i < frames(); ++i) {
    const int64_t bytes = int64_t{kChannels} * height * width;
    frames_.push_back(cv::Mat(height, width, CV_8UC3,
                              const_cast<uint8_t*>(data + i * bytes)));
  }
  return absl::OkStatus();
}

cv::Rect ClipRecipe::DrawCrop(const cv::Size& size, Random* random) const {
  const auto begin = [&](int length) {
    const int room = std::max(0, length - spec_.crop());
    if (spec_.crop_position() == "center") return room / 2;
    return static_cast<int>(random->Next() % static_cast<uint64_t>(room + 1));
  };
  const int left = begin(size.width);
  const int top = begin(size.height);
  return cv::Rect(left, top, spec_.crop(), spec_.crop());
}

void ClipRecipe::Normalize(const cv::Mat& frame, float* out) const {
  const int64_t plane = int64_t{spec_.crop()} * spec_.crop();
  for (int row = 0; row < frame.rows; ++row) {
    float* const at = out + int64_t{row} * frame.cols;
    ToPlanes(frame.ptr<uint8_t>(row), frame.cols, scale_.data(), offset_.data(),
             at, at + plane, at + 2 * plane);
  }
}

absl::Status ClipRecipe::Load(int64_t item, uint64_t seed, float* out) {
  RETURN_IF_ERROR(Decode(item));
  Random random(seed);
  const cv::Rect crop = DrawCrop(frames_[0].size(), &random);
  // cv::randn and cv::randu draw from the thread's own generator.
  const uint64_t state = random.Next() | 1;
  for (const cv::Mat& frame : frames_) {
    const cv::Mat* input = &frame;
    const int down = std::max(0, spec_.crop() - frame.rows);
    const int right = std::max(0, spec_.crop() - frame.cols);
    if (!spec_.is_crop() && (down > 0 || right > 0)) {
      cv::copyMakeBorder(frame, padded_, down / 2, down - down / 2, right / 2,
                         right - right / 2, cv::BORDER_CONSTANT);
      input = &padded_;
    }
    if (!spec_.is_crop()) {
      // Operations need rows without gaps.
      (*input)(crop).copyTo(cropped_);
      input = &cropped_;
    }
    Random drawn = random;
    cv::theRNG().state = state;
    op_(*input, &drawn, &changed_);
    if (changed_.rows != spec_.crop() || changed_.cols != spec_.crop() ||
        changed_.type() != CV_8UC3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the transform gives ", changed_.cols, "x", changed_.rows, ", not ",
          spec_.crop(), "x", spec_.crop()));
    }
    Normalize(changed_, out);
    out += int64_t{kChannels} * spec_.crop() * spec_.crop();
  }
  return absl::OkStatus();
}

std::optional<int64_t> ClipRecipe::IdOf(const float* tensor) const {
  std::optional<int64_t> id;
  for (int i = 0; i < frames(); ++i) {
    const std::optional<int64_t> shown = IdOfPlanes(
        tensor + i * values() / frames(), spec_.crop(), spec_.crop(),
        {spec_.mean().begin(), spec_.mean().end()},
        {spec_.std().begin(), spec_.std().end()}, spec_.input_scale());
    if (i > 0 && shown != id) return std::nullopt;
    id = shown;
  }
  return id;
}

using Recipes = std::vector<std::unique_ptr<ClipRecipe>>;
using Buffers = std::vector<std::vector<float>>;

// OpenCV reports errors by exceptions.
absl::Status TryLoad(ClipRecipe* recipe, int64_t item, uint64_t seed,
                     float* out) {
  try {
    return recipe->Load(item, seed, out);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

// What a rank takes of an epoch that begins at `begin`.
EpochShare ShareOf(const LoaderSpec& spec, const EpochPosition& begin) {
  EpochShare share{begin.done, spec.rank(), RanksOf(spec)};
  if (spec.drop_last()) share.tail = EpochShare::Tail::kDrop;
  return share;
}

ItemOrder OrderOf(const LoaderSpec& spec, const EpochCommand& command,
                  const EpochPosition& begin, int64_t items) {
  const EpochShare share = ShareOf(spec, begin);
  if (share.world == 1 && share.start == 0) {
    return ItemOrder(command.first(), command.count(), items, spec.shuffle(),
                     begin.seed, begin.epoch);
  }
  return ItemOrder(share, share.Count(items, spec.batch_size()), items,
                   spec.shuffle(), begin.seed, begin.epoch);
}

class ClipStream : public BatchStream {
 public:
  ClipStream(const LoaderSpec& spec, const EpochCommand& command,
             const EpochPosition& begin, const LoaderInput& input,
             const Recipes& recipes, Buffers* buffers)
      : spec_(spec),
        wants_ids_(command.ids()),
        begin_(begin),
        share_(ShareOf(spec, begin)),
        input_(input),
        recipes_(recipes),
        buffers_(*buffers),
        items_(recipes[0]->items()),
        order_(OrderOf(spec, command, begin, items_)),
        splits_(share_.Splits(items_, spec.batch_size()) &&
                order_.count() % spec.batch_size() == 0),
        batches_((order_.count() + spec.batch_size() - 1) / spec.batch_size() +
                 (splits_ ? 1 : 0)),
        loaded_(batches_),
        failed_(order_.count()) {
    for (const std::unique_ptr<ClipRecipe>& recipe : recipes) {
      threads_.emplace_back([this, &recipe] { Work(recipe.get()); });
    }
  }

  ~ClipStream() override { Stop(); }

  absl::StatusOr<Batch> Next() override {
    std::unique_lock<std::mutex> lock(mutex_);
    // The consumer is done with what was delivered before.
    released_ = next_;
    changed_.notify_all();
    while (next_ < batches_) {
      const int64_t batch = next_;
      const int64_t size = SizeOf(batch);
      changed_.wait(lock,
                    [&] { return loaded_[batch] == size || !failure_.ok(); });
      RETURN_IF_ERROR(failure_);
      next_ = batch + 1;
      if (size < spec_.batch_size() && spec_.drop_last()) break;
      const int64_t whole = Compact(batch, size);
      if (whole > 0) {
        return Batch{
            whole,
            whole * recipes_[0]->values() * static_cast<int64_t>(sizeof(float)),
            IdsOf(batch, whole)};
      }
      // No item of it could be used.
      released_ = next_;
      changed_.notify_all();
    }
    return Batch();
  }

  absl::Status Finish(EpochReply* reply) override {
    Stop();
    *reply->mutable_errors() = faults_.errors();
    reply->set_errors_total(faults_.errors_total());
    if (wants_ids_) {
      EpochPosition position = begin_;
      position.done = share_.StartAfter(next_, items_, spec_.batch_size());
      reply->set_state(position.ToText());
    }
    return absl::OkStatus();
  }

 private:
  // The number of a batch's first item. Only the last batch may begin early
  // (EpochShare::Splits).
  int64_t StartOf(int64_t batch) const {
    if (batch == batches_) return order_.count();
    return splits_ && batch == batches_ - 1 ? order_.count() - 1
                                            : batch * spec_.batch_size();
  }
  int64_t SizeOf(int64_t batch) const {
    return StartOf(batch + 1) - StartOf(batch);
  }
  int64_t BatchOf(int64_t number) const {
    return splits_ && number == order_.count() - 1
               ? batches_ - 1
               : number / spec_.batch_size();
  }
  float* PlaceOf(int64_t number) {
    const int64_t batch = BatchOf(number);
    return buffers_[batch % buffers_.size()].data() +
           (number - StartOf(batch)) * recipes_[0]->values();
  }

  std::vector<std::optional<int64_t>> IdsOf(int64_t batch, int64_t size) {
    std::vector<std::optional<int64_t>> ids;
    for (int64_t i = 0; wants_ids_ && i < size; ++i) {
      ids.push_back(recipes_[0]->IdOf(PlaceOf(StartOf(batch) + i)));
    }
    return ids;
  }

  // Closes the gaps left by failed items. Returns the number of good items.
  int64_t Compact(int64_t batch, int64_t size) {
    int64_t whole = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t number = StartOf(batch) + i;
      if (failed_[number]) continue;
      if (whole < i) {
        std::memcpy(PlaceOf(StartOf(batch) + whole), PlaceOf(number),
                    recipes_[0]->values() * sizeof(float));
      }
      ++whole;
    }
    return whole;
  }

  // The next item's number, once there is room for its batch. -1 means there is
  // none.
  int64_t Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopped_ || taken_ == order_.count()) return -1;
    const int64_t number = taken_++;
    const int64_t batch = BatchOf(number);
    const auto room = static_cast<int64_t>(buffers_.size());
    changed_.wait(lock, [&] { return stopped_ || batch < released_ + room; });
    return stopped_ ? -1 : number;
  }

  void Work(ClipRecipe* recipe) {
    for (int64_t number; (number = Take()) >= 0;) {
      const int64_t item = order_.Item(number);
      const absl::Status loaded =
          TryLoad(recipe, item, ItemSeed(begin_.seed, begin_.epoch, item),
                  PlaceOf(number));
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!loaded.ok()) Fail(number, item, loaded);
      ++loaded_[BatchOf(number)];
      changed_.notify_all();
    }
  }

  // REQUIRES: mutex_ is held.
  void Fail(int64_t number, int64_t item, const absl::Status& status) {
    failed_[number] = true;
    const std::string path =
        input_.corpus != nullptr ? "" : input_.files[item].path;
    faults_.set_errors_total(faults_.errors_total() + 1);
    if (faults_.errors_size() < kMaxNamedErrors) {
      LoaderError* const error = faults_.add_errors();
      error->set_item(item);
      error->set_path(path);
      error->set_reason(std::string(status.message()));
    }
    if (spec_.on_error() == "fail" && failure_.ok()) {
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
  const bool wants_ids_;
  const EpochPosition begin_;
  const EpochShare share_;
  const LoaderInput& input_;
  const Recipes& recipes_;
  Buffers& buffers_;
  const int64_t items_;
  const ItemOrder order_;
  const bool splits_;
  const int64_t batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Items of each batch that are done, good or failed.
  std::vector<int64_t> loaded_;
  std::vector<bool> failed_;
  int64_t taken_ = 0;
  int64_t next_ = 0;
  // Batches that the consumer is done with.
  int64_t released_ = 0;
  bool stopped_ = false;
  absl::Status failure_;
  // Holds `errors` and `errors_total`.
  EpochReply faults_;
  std::vector<std::thread> threads_;
};

absl::Status CheckSpec(const LoaderSpec& spec) {
  if (spec.channels() != 3) {
    return absl::InvalidArgumentError("clips have three channels");
  }
  if (!spec.batch_transform().empty() || !spec.ablation().empty() ||
      spec.scope() == kCopyScope) {
    return absl::InvalidArgumentError(
        "the loader of clips has no batch transforms, ablations or copies to a "
        "device");
  }
  return absl::OkStatus();
}

// A loader of clips. Starts `workers` threads, at least one. Each takes the
// next item, decodes and transforms it, and writes it straight into its batch.
// Batches are delivered in order. At most `prefetch` batches are ahead of the
// consumer.
class ClipLoader : public PreparedLoader {
 public:
  // InvalidArgument names what a loader of clips cannot do. All outlive it.
  static absl::StatusOr<std::unique_ptr<ClipLoader>> Make(
      const PrepareCommand& spec, const LoaderInput& input);

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override;
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override;

 private:
  ClipLoader(const PrepareCommand& spec, const LoaderInput& input)
      : spec_(spec), input_(input) {}

  const PrepareCommand spec_;
  const LoaderInput& input_;
  // One per thread.
  std::vector<std::unique_ptr<ClipRecipe>> recipes_;
  // Batches in progress, reused from epoch to epoch.
  std::vector<std::vector<float>> buffers_;
  std::vector<float> output_;
};

absl::StatusOr<std::unique_ptr<ClipLoader>> ClipLoader::Make(
    const PrepareCommand& spec, const LoaderInput& input) {
  const LoaderSpec& loader = spec.loader();
  RETURN_IF_ERROR(CheckSpec(loader));
  // The loader has its own threads; OpenCV's would compete with them.
  cv::setNumThreads(0);
  std::unique_ptr<ClipLoader> made(new ClipLoader(spec, input));
  for (int i = 0; i < std::max(1, loader.workers()); ++i) {
    ASSIGN_OR_RETURN(made->recipes_.emplace_back(),
                     ClipRecipe::Make(made->spec_, input));
  }
  // The batch that the consumer has, and those ahead of it.
  made->buffers_.resize(1 + std::max(1, loader.prefetch()));
  for (std::vector<float>& buffer : made->buffers_) {
    buffer.resize(loader.batch_size() * made->recipes_[0]->values());
  }
  return made;
}

absl::StatusOr<EpochReply> ClipLoader::RunEpoch(const EpochCommand& command) {
  ASSIGN_OR_RETURN(const EpochPosition begin, BeginOf(command));
  return TimeEpoch(command, [&] {
    return std::make_unique<ClipStream>(spec_.loader(), command, begin, input_,
                                        recipes_, &buffers_);
  });
}

absl::StatusOr<Output> ClipLoader::OutputFor(int64_t item, uint64_t seed) {
  ClipRecipe* const recipe = recipes_[0].get();
  output_.resize(recipe->values());
  RETURN_IF_ERROR(TryLoad(recipe, item % recipe->items(),
                          ItemSeed(seed, 0, item % recipe->items()),
                          output_.data()));
  Output output;
  output.data = output_.data();
  output.bytes = static_cast<int64_t>(output_.size() * sizeof(float));
  output.dtype = "float32";
  output.layout = "TCHW";
  output.shape = {recipe->frames(), 3, spec_.loader().crop(),
                  spec_.loader().crop()};
  return output;
}

}  // namespace

std::string FfmpegAdapter::version() const { return ClipReaderVersion(); }

absl::StatusOr<std::unique_ptr<PreparedTransform>> FfmpegAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  return absl::UnimplementedError("ffmpeg is a decoder; it has no transforms");
}

absl::StatusOr<std::unique_ptr<PreparedTransform>>
FfmpegAdapter::PrepareDecoder(const PrepareCommand& spec,
                              const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    if (!file.frames.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": its clip has no frames"));
  }
  threads_ = spec.decode().threads();
  return std::make_unique<ClipDecoder>(threads_, files);
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> FfmpegAdapter::PrepareLoader(
    const PrepareCommand& spec, const LoaderInput& input) {
  threads_ = spec.loader().workers();
  return ClipLoader::Make(spec, input);
}

}  // namespace feedrate
