// Clips of videos as the samples of a Loader.
//
//   ASSIGN_OR_RETURN(auto clips, ClipSet::Open(videos, OpenClip, options));
//   ASSIGN_OR_RETURN(auto loader, Loader::Create(std::move(clips), ...));
//
// docs/python_clips.md explains what a clip is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/batch.h"
#include "lib/loader/clips/clip_sampling.h"
#include "lib/loader/made_source.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source.h"
#include "lib/media/video/clip_reader.h"

namespace feedrate {

// Opens a video by its number: a file or, if `path` is null, one in memory,
// which outlives the reader. Thread-safe.
using OpenVideo = std::function<absl::StatusOr<std::unique_ptr<ClipReader>>(
    int64_t video, const char* path, absl::string_view bytes)>;

class ClipSet;

struct ClipSetOptions {
  ClipTiming timing;
  // If not empty, by video: the frames of its only clip, in place of the
  // timing; as many for all.
  std::vector<std::vector<int64_t>> frames;
  // What is done to every frame of a clip alike.
  Recipe recipe;
  // If set, what makes the samples in place of FFmpeg and the recipe, such as
  // ClipsOnGpu. They are as long, and of the same shape.
  std::function<std::unique_ptr<ItemMaker>(const ClipSet& set)> new_maker;
  // Videos that cannot be read are an error when they are counted, instead of
  // left out.
  bool fail = false;
  // Threads that open all videos, where their lengths must be known.
  int threads = 1;
};

// A sample is a clip: frames one after the other, each as the recipe makes it.
class ClipSet : public MadeSource {
 public:
  // `videos` are the files. InvalidArgument names what the recipe does not
  // understand. NotFound if there is no clip.
  static absl::StatusOr<std::unique_ptr<ClipSet>> Open(
      std::unique_ptr<Source> videos, OpenVideo open,
      const ClipSetOptions& options);

  // Clips, and the names of their videos.
  int64_t size() const override { return first_.back(); }
  std::string name(int64_t item) const override;
  int64_t label(int64_t item) const override;
  bool has_order() const override { return false; }
  // The same clip of the next video.
  int64_t Replacement(int64_t item, int64_t attempt) const override;
  int64_t sample_bytes() const override;
  std::unique_ptr<ItemMaker> NewMaker() override;

  // Files are read by who decodes them, the rest by the loader.
  bool in_memory() const override { return reads_itself_; }
  ItemPlace Place(int64_t item) const override;
  bool has_places() const override { return videos_->has_places(); }
  const RemoteSource* remote() const override;
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override;
  void SetCancelled(bool cancelled) const override {
    videos_->SetCancelled(cancelled);
  }

  const Source& videos() const { return *videos_; }
  const ClipSetOptions& options() const { return options_; }
  // What one frame has.
  const SampleShape& shape() const { return shape_; }
  // Number of the first clip of a video, and of those after its last.
  int64_t first_clip(int64_t video) const { return first_[video]; }
  int64_t VideoOf(int64_t item) const;
  // Videos that cannot be read, in words; empty if there are none.
  std::string left_out() const;

  // For makers. `bytes` are what they get of an item of the video.

  VideoPlace PlaceOfVideo(int64_t video, absl::string_view bytes) const;
  absl::StatusOr<std::unique_ptr<ClipReader>> OpenReader(
      int64_t video, absl::string_view bytes) const;
  // Whether FramesOf needs ClipVideo::times.
  bool needs_times() const { return options_.timing.in_seconds; }
  std::vector<int64_t> FramesOf(int64_t item, uint64_t seed,
                                const ClipVideo& known) const;
  absl::StatusOr<ClipVideo> VideoIn(ClipReader* reader) const;

  // Upper bounds in bytes.
  struct Memory {
    int64_t index = 0;
    // What decodes for one thread, on the CPU.
    int64_t decoder = 0;
  };
  // Opens all videos: the largest frame counts. Those that cannot be opened do
  // not. FailedPrecondition for videos of a store.
  absl::StatusOr<Memory> FindMemory() const;

 private:
  ClipSet(std::unique_ptr<Source> videos, OpenVideo open,
          const ClipSetOptions& options);
  absl::Status Count();
  absl::StatusOr<int64_t> CountOf(int64_t video) const;
  // Opens a video of a file, or with its bytes in `buffer`.
  absl::StatusOr<std::unique_ptr<ClipReader>> OpenHere(
      int64_t video, ReadBuffer* buffer) const;

  const std::unique_ptr<Source> videos_;
  const OpenVideo open_;
  const ClipSetOptions options_;
  bool reads_itself_ = false;
  SampleShape shape_;
  // By video; the last one is their number.
  std::vector<int64_t> first_;
  std::vector<std::string> unusable_;
};

}  // namespace feedrate
