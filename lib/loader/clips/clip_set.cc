#include "lib/loader/clips/clip_set.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/loader/sample/sample_maker.h"
#include "lib/media/parallel.h"
#include "lib/ops/epoch_order.h"

namespace feedrate {
namespace {

// The start of a clip is not drawn with the numbers that crop it.
constexpr uint64_t kTimes = 0x7469;

// A decoder keeps at most 16 frames that others depend on, in half the bytes of
// RGB; some more while it works, and the pixels of the last one are RGB.
constexpr int64_t kDecoderFrames = 14;
constexpr int64_t kDecoderBytes = int64_t{4} << 20;
// Of each video: its place, first clip and label.
constexpr size_t kVideoIndexBytes = 128;

class ClipMaker : public ItemMaker {
 public:
  ClipMaker(const ClipSet& set, std::unique_ptr<SampleMaker> maker)
      : set_(set), maker_(std::move(maker)) {}

  absl::Status Make(int64_t item, uint64_t seed, absl::string_view bytes,
                    void* batch, int place) override {
    const int64_t video = set_.VideoOf(item);
    // Clips of a video often follow each other.
    if (reader_ == nullptr || video != video_) {
      reader_ = nullptr;
      ASSIGN_OR_RETURN(reader_, set_.OpenReader(video, bytes));
      video_ = video;
    }
    std::unique_ptr<ClipReader> reader = std::move(reader_);
    RETURN_IF_ERROR(
        MakeFrames(item, seed, reader.get(),
                   static_cast<uint8_t*>(batch) + place * set_.sample_bytes()));
    // The bytes of others are gone with the next call, and a decoder that
    // failed is in no state to go on.
    if (set_.in_memory()) reader_ = std::move(reader);
    return absl::OkStatus();
  }

 private:
  absl::Status MakeFrames(int64_t item, uint64_t seed, ClipReader* reader,
                          uint8_t* out) {
    const VideoInfo info = reader->info();
    ASSIGN_OR_RETURN(const ClipVideo known, set_.VideoIn(reader));
    const std::vector<int64_t> frames = set_.FramesOf(item, seed, known);
    const DecodeWindow window = maker_->WindowOf(info.height, info.width, seed);
    const auto bytes = static_cast<int64_t>(set_.shape().bytes());
    absl::Status made;
    std::exception_ptr thrown;
    // Nothing is thrown through the library that decodes.
    const auto take = [&](int64_t first, int64_t count,
                          const uint8_t* rgb) noexcept {
      const PixelView view{rgb, ptrdiff_t{3} * window.width, window.height,
                           window.width, 3};
      uint8_t* const frame = out + first * bytes;
      try {
        SampleTimes times;
        made.Update(maker_->FromWindow(view, info.height, info.width, seed,
                                       frame, &times));
      } catch (...) {
        thrown = std::current_exception();
      }
      for (int64_t i = 1; i < count; ++i) {
        std::memcpy(frame + i * bytes, frame, bytes);
      }
    };
    RETURN_IF_ERROR(reader->ReadEach(
        frames, {window.x, window.y, window.width, window.height}, take));
    if (thrown != nullptr) std::rethrow_exception(thrown);
    return made;
  }

  const ClipSet& set_;
  const std::unique_ptr<SampleMaker> maker_;
  int64_t video_ = -1;
  // Reads video_; null if none is open.
  std::unique_ptr<ClipReader> reader_;
};

}  // namespace

namespace {

ClipSetOptions WithFrames(ClipSetOptions options) {
  if (options.frames.empty()) return options;
  options.timing = {};
  options.timing.frames = static_cast<int>(options.frames[0].size());
  return options;
}

}  // namespace

ClipSet::ClipSet(std::unique_ptr<Source> videos, OpenVideo open,
                 const ClipSetOptions& options)
    : videos_(std::move(videos)),
      open_(std::move(open)),
      options_(options),
      reads_itself_(
          videos_->in_memory() ||
          (videos_->size() > 0 && videos_->Place(0).path != nullptr)) {}

absl::StatusOr<std::unique_ptr<ClipSet>> ClipSet::Open(
    std::unique_ptr<Source> videos, OpenVideo open,
    const ClipSetOptions& options) {
  std::unique_ptr<ClipSet> set = absl::WrapUnique(
      new ClipSet(std::move(videos), std::move(open), WithFrames(options)));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleMaker> maker,
                   SampleMaker::Create(options.recipe));
  set->shape_ = maker->shape();
  for (const std::vector<int64_t>& frames : options.frames) {
    if (frames.empty() || frames.size() != options.frames[0].size()) {
      return absl::InvalidArgumentError("clips differ in their frames");
    }
  }
  const ClipTiming& timing = set->options_.timing;
  constexpr int64_t kMostPositions = 1 << 24;
  if (timing.sampling == ClipSampling::kUniform &&
      timing.clips > kMostPositions / timing.frames) {
    return absl::InvalidArgumentError(
        absl::StrCat("clips: ", timing.clips, " with ", timing.frames,
                     " frames each are too many for one video; use fewer"));
  }
  RETURN_IF_ERROR(set->Count());
  if (set->size() > 0) return set;
  return absl::NotFoundError(absl::StrCat("there is no video that can be read",
                                          set->unusable_.empty() ? "" : "; ",
                                          set->left_out()));
}

absl::StatusOr<std::unique_ptr<ClipReader>> ClipSet::OpenHere(
    int64_t video, ReadBuffer* buffer) const {
  absl::string_view bytes;
  if (!reads_itself_) {
    ASSIGN_OR_RETURN(bytes, videos_->Read(video, buffer));
  }
  return open_(video, videos_->Place(video).path, bytes);
}

absl::StatusOr<int64_t> ClipSet::CountOf(int64_t video) const {
  const ClipTiming& timing = options_.timing;
  if (timing.sampling != ClipSampling::kDense) return timing.clips;
  ReadBuffer buffer;
  ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                   OpenHere(video, &buffer));
  ASSIGN_OR_RETURN(const ClipVideo counted, VideoIn(reader.get()));
  const int64_t clips = CountClips(timing, counted);
  if (clips < kMaxDatasetObjects) return clips;
  return absl::InvalidArgumentError(
      absl::StrCat("has ", clips, " clips or more; use a larger step"));
}

std::vector<int64_t> ClipSet::FramesOf(int64_t item, uint64_t seed,
                                       const ClipVideo& known) const {
  const int64_t video = VideoOf(item);
  if (!options_.frames.empty()) return options_.frames[video];
  Random random(MixSeeds(seed, kTimes));
  return FramesOfClip(options_.timing, known, item - first_[video], &random);
}

absl::StatusOr<ClipVideo> ClipSet::VideoIn(ClipReader* reader) const {
  ClipVideo video;
  video.frames = reader->info().frames;
  if (options_.timing.in_seconds) {
    ASSIGN_OR_RETURN(video.times, reader->Times());
  }
  return video;
}

absl::Status ClipSet::Count() {
  const int64_t videos = videos_->size();
  std::vector<absl::StatusOr<int64_t>> counts(videos, int64_t{0});
  ParallelFor(videos, options_.threads,
              [&](int64_t i) { counts[i] = CountOf(i); });
  first_ = {0};
  for (int64_t i = 0; i < videos; ++i) {
    if (absl::IsUnavailable(counts[i].status())) return counts[i].status();
    if (!counts[i].ok()) {
      unusable_.push_back(
          absl::StrCat(videos_->name(i), ": ", counts[i].status().message()));
      if (options_.fail) {
        return absl::Status(counts[i].status().code(), unusable_.back());
      }
    }
    first_.push_back(first_.back() + (counts[i].ok() ? *counts[i] : 0));
  }
  return absl::OkStatus();
}

absl::StatusOr<ClipSet::Memory> ClipSet::FindMemory() const {
  if (videos_->remote() != nullptr) {
    return absl::FailedPreconditionError(
        "memory_plan: not known of videos in a store, whose frames have sizes "
        "that only opening each tells; copy the videos to a folder");
  }
  std::mutex mutex;
  Memory memory;
  ParallelFor(videos_->size(), options_.threads, [&](int64_t i) {
    ReadBuffer buffer;
    const auto reader = OpenHere(i, &buffer);
    const std::lock_guard<std::mutex> lock(mutex);
    memory.index +=
        static_cast<int64_t>(kVideoIndexBytes + 2 * videos_->name(i).size());
    if (!reader.ok()) return;
    memory.decoder =
        std::max(memory.decoder,
                 kDecoderBytes + kDecoderFrames * (*reader)->FrameBytes());
  });
  return memory;
}

std::string ClipSet::left_out() const {
  if (unusable_.empty()) return "";
  return absl::StrCat(
      unusable_.size(), unusable_.size() == 1 ? " video" : " videos",
      " cannot be decoded and ", unusable_.size() == 1 ? "is" : "are",
      " left out; the first is ", unusable_[0]);
}

int64_t ClipSet::VideoOf(int64_t item) const {
  return std::upper_bound(first_.begin(), first_.end(), item) - first_.begin() -
         1;
}

std::string ClipSet::name(int64_t item) const {
  return videos_->name(VideoOf(item));
}

int64_t ClipSet::label(int64_t item) const {
  return videos_->label(VideoOf(item));
}

int64_t ClipSet::Replacement(int64_t item, int64_t attempt) const {
  const int64_t video = VideoOf(item);
  const int64_t clip = item - first_[video];
  const int64_t videos = videos_->size();
  for (int64_t i = 1, left = attempt; i < videos; ++i) {
    const int64_t next = (video + i) % videos;
    const int64_t clips = first_[next + 1] - first_[next];
    if (clips > 0 && --left == 0) {
      return first_[next] + std::min(clip, clips - 1);
    }
  }
  return item;
}

int64_t ClipSet::sample_bytes() const {
  return static_cast<int64_t>(shape_.bytes()) * options_.timing.frames;
}

std::unique_ptr<ItemMaker> ClipSet::NewMaker() {
  if (options_.new_maker != nullptr) return options_.new_maker(*this);
  // Open has made one.
  return std::make_unique<ClipMaker>(*this,
                                     *SampleMaker::Create(options_.recipe));
}

ItemPlace ClipSet::Place(int64_t item) const {
  return videos_->Place(VideoOf(item));
}

const RemoteSource* ClipSet::remote() const {
  // Read-ahead of a store counts in its own items.
  return size() == videos_->size() ? videos_->remote() : nullptr;
}

absl::StatusOr<absl::string_view> ClipSet::Read(int64_t item,
                                                ReadBuffer* buffer) const {
  return videos_->Read(VideoOf(item), buffer);
}

VideoPlace ClipSet::PlaceOfVideo(int64_t video, absl::string_view bytes) const {
  const char* const path = reads_itself_ ? videos_->Place(video).path : nullptr;
  if (path == nullptr) return {"", bytes};
  return {path, {}};
}

absl::StatusOr<std::unique_ptr<ClipReader>> ClipSet::OpenReader(
    int64_t video, absl::string_view bytes) const {
  return open_(video, reads_itself_ ? videos_->Place(video).path : nullptr,
               bytes);
}

}  // namespace feedrate
