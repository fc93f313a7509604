// The endless stream of samples of each data set, and how a mixture draws from
// the streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/loader/mixture/video_frames.h"
#include "lib/media/jpeg/region.h"
#include "lib/media/resample.h"

namespace feedrate {

struct DatasetStreamOptions {
  EpisodeOrderOptions order;
  EpisodeOptions episode;
  // Most episodes that may be open or being opened, including the one in use.
  int ahead = 2;
  // True: data that cannot be used is an error. False: it is skipped.
  bool fail = true;
  uint64_t seed = 0;
};

// A pair of frames to decode.
struct PlannedSample {
  std::shared_ptr<const Episode> episode;
  int step = 0;
  // Index of the next pair of the episode.
  size_t next_pair = 0;
};

// Where a stream continues: an episode, as its number in the stream with those
// that cannot be used, and the next pair of it.
struct StreamPlace {
  int64_t episode = 0;
  int64_t pair = 0;
};

// Samples of one data set. Episodes are queued in their order and opened by any
// thread, so the samples are the same for any number of threads. All methods
// but Opening::Run must be called under one lock of the owner.
class DatasetStream {
 public:
  // Called with the name and the reason of what was skipped.
  using OnFault =
      std::function<void(const std::string& name, const std::string& reason)>;

  DatasetStream(MixtureSource source, const DatasetStreamOptions& options,
                OnFault on_fault);

  const std::string& name() const { return source_.name; }

  // Where the next sample is.
  StreamPlace place() const;
  // Continues at a place of the same stream, and opens none of the episodes
  // before. REQUIRES: nothing was begun.
  absl::Status StartAt(const StreamPlace& place);

  // A queued episode. Call Run once, without the lock; then call Opened with
  // it.
  class Opening {
   public:
    void Run();

   private:
    friend class DatasetStream;
    EpisodePlace place_;
    EpisodeOptions options_;
    uint64_t seed_ = 0;
    // Error of the shard, found before any episode: there is nothing to open.
    absl::Status found_;
    absl::StatusOr<std::unique_ptr<Episode>> result_ =
        absl::UnknownError("not opened");
    bool is_open_ = false;
  };

  // The next episode to open; null if enough are open.
  std::shared_ptr<Opening> Begin();
  void Opened(const std::shared_ptr<Opening>& opening);

  // True if Settle need not wait: an episode is in use, the first in the queue
  // is open, or the stream has ended with an error.
  bool ready() const;
  // Puts the next episode into use if none is. Returns false if the first in
  // the queue turned out to be unusable and was skipped: call again once ready.
  // An error of the stream is final. REQUIRES: ready().
  absl::StatusOr<bool> Settle();
  // Returns the next sample. REQUIRES: Settle returned true.
  PlannedSample Next();
  // Number of samples that can be taken in order from the episode in use.
  int64_t left_in_episode() const;

  // Closes all episodes and shards. No more samples follow.
  void Close();

  // Size of the largest episode opened.
  int64_t largest_bytes() const { return largest_bytes_; }

 private:
  absl::Status PassOver(const std::string& name, const absl::Status& status);

  const MixtureSource source_;
  const DatasetStreamOptions options_;
  const OnFault on_fault_;
  EpisodeOrder order_;
  std::deque<std::shared_ptr<Opening>> line_;
  int64_t planned_ = 0;
  int64_t begun_ = 0;  // Episodes that are or were in use, or were skipped.
  int64_t last_good_pass_ = -1;
  absl::Status end_;
  std::shared_ptr<const Episode> current_;
  size_t next_pair_ = 0;
  size_t first_pair_ = 0;  // Where the next episode starts.
  int64_t largest_bytes_ = 0;
};

// Chooses the data set of each sample: first `prime` samples of each data set
// in turn, then blocks of `block` samples, each from a data set drawn by
// weight. A function of the position alone, so any thread gets the same answer
// at any time.
class MixOrder {
 public:
  // REQUIRES: at least one weight, all above 0; block > 0, prime >= 0.
  MixOrder(const std::vector<double>& weights, int block, int prime,
           uint64_t seed);

  // Data set of the sample at `position`, counted from 0.
  int DatasetAt(int64_t position) const;
  // The first position after `position` that may belong to another data set.
  int64_t BlockEnd(int64_t position) const;

 private:
  std::vector<double> rising_;  // Cumulative shares.
  int64_t block_;
  int64_t prime_;
  uint64_t seed_;
};

// Seeds of a mixture's draws. Shared by the loader and its limit, so that both
// use the same samples.

// Options for the stream of data set number `source`. Metadata, how many
// episodes to open ahead and error handling affect no draw; the caller sets
// them.
DatasetStreamOptions PlannedStream(const MixtureSpec& spec, uint64_t seed,
                                   size_t source);

// Order of the data sets. `weights` are those of the remaining data sets.
MixOrder PlannedOrder(const std::vector<double>& weights,
                      const MixtureSpec& spec, uint64_t seed);

// Height and width of all frames of a batch, 8-bit RGB.
struct FrameShape {
  int height = 0;
  int width = 0;
  size_t bytes() const { return size_t{3} * height * width; }
};

// Resizes frames before they are cropped. A height of 0: not at all.
struct FrameResize {
  int height = 0;
  int width = 0;
  ResampleFilter filter = ResampleFilter::kBilinear;
};

// Decodes frames to their place in a batch. Larger frames are cropped to the
// center, smaller ones padded with zeros, like
// tf.image.resize_with_crop_or_pad. Only the part that is kept is decoded and
// resized. Not thread-safe: use one per thread.
// `Jpeg` is JpegRegionDecoder or JpegTurboRegion.
template <typename Jpeg>
class FrameDecoderOf {
 public:
  explicit FrameDecoderOf(const FrameResize& resize = {}) : resize_(resize) {}

  // Writes shape.bytes() to `out`. InvalidArgument if `file` is damaged or
  // neither a JPEG nor a PNG nor the name of a frame of a video.
  absl::Status Decode(absl::string_view file, const FrameShape& shape,
                      uint8_t* out);
  // All of a frame, resized but not cropped. Valid until the next call.
  absl::StatusOr<ImageView> DecodeWhole(absl::string_view file);

  // Upper bound of the memory for videos. Thread-safe.
  int64_t video_bytes() const { return videos_.memory_bound_bytes(); }
  // Memory of everything else. Not thread-safe.
  int64_t other_bytes() const {
    return static_cast<int64_t>(whole_.capacity() + resized_.capacity()) +
           (resampler_ != nullptr ? resampler_->bytes() : 0);
  }

 private:
  struct Opened {
    ImageInfo info;
    bool is_jpeg = false;
    // Only for files that are no JPEG.
    ImageView whole;
  };
  absl::StatusOr<Opened> Open(absl::string_view file);

  const FrameResize resize_;
  Jpeg decoder_;
  VideoFrames videos_;
  // A PNG, which has to be decoded as a whole, or what is resized of a JPEG.
  std::vector<uint8_t> whole_;
  std::unique_ptr<Resampler> resampler_;
  std::vector<uint8_t> resized_;
};
using FrameDecoder = FrameDecoderOf<JpegRegionDecoder>;

struct MixtureLimitOptions {
  // Seed of the run that the limit is compared with, so that both use the same
  // samples.
  uint64_t seed = 0;
  int threads = 0;  // 0: all usable processors.
  // Number of samples whose frames are decoded.
  int64_t samples = 2048;
  // Rounds of decoding them all. The best one counts, so that the limit shows
  // the machine undisturbed.
  int rounds = 3;
};

// Upper limit for mixtures on this machine: samples per second when their
// frames are decoded, by our own decoder or by libjpeg-turbo, whichever is
// faster, and nothing else is done. The frames of the
// mixture's first samples are in memory, frames that pairs of an episode share
// only once, and are decoded to the batch's size into memory that stays in the
// cache. An episode that comes again in a later pass is decoded again. Unusable
// data is skipped; FailedPrecondition if nothing is left. REQUIRES: `spec` is
// checked.
absl::StatusOr<double> MixtureDecodeLimit(
    const std::vector<MixtureSource>& sources, const MixtureSpec& spec,
    const MixtureLimitOptions& options);

}  // namespace feedrate
