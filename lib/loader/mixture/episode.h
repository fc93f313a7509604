// Episodes of a data set: the order in which they are read, and their frames
// and metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/ops/params.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

// Bytes of a file, read into memory. If somebody truncates the file while they
// are in use, the process is killed.
class MappedPart {
 public:
  MappedPart() = default;
  // `bytes` lie in `map`, which it owns.
  MappedPart(absl::Span<char> map, absl::string_view bytes)
      : map_(map), bytes_(bytes) {}
  MappedPart(MappedPart&& other) noexcept
      : map_(std::exchange(other.map_, {})), bytes_(other.bytes_) {}
  MappedPart& operator=(MappedPart&& other) noexcept {
    std::swap(map_, other.map_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedPart();

  absl::string_view bytes() const { return bytes_; }

 private:
  absl::Span<char> map_;
  absl::string_view bytes_;
};

// True if a shard that begins with these bytes is compressed by gzip: it has
// gzip's magic number, and is not a TFRecord file whose first record happens to
// have that length.
bool IsGzipShard(absl::string_view head);

// A mapped shard. One that is compressed by gzip is unpacked first, into a file
// without a name in $TMPDIR that lives as long as this object. The shard of a
// LeRobot data set is its meta/info.json, and all its episodes are written to
// such a file; see lerobot.h. This map is used
// only to find records by their headers; the content of a record gets a map of
// its own, since pages of a large map are read in megabytes, and nobody could
// say how much memory they take. Thread-safe after construction.
class MappedShard {
 public:
  // NotFound or DataLoss name the path.
  static absl::StatusOr<std::unique_ptr<MappedShard>> Open(
      const std::string& path);
  ~MappedShard();
  MappedShard(const MappedShard&) = delete;
  MappedShard& operator=(const MappedShard&) = delete;

  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return bytes_; }

  // Maps a part of the file by itself: only its own pages use memory, and are
  // freed with it. DataLoss names the path.
  absl::StatusOr<MappedPart> Map(int64_t offset, int64_t length) const;
  // Frees the pages around `offset` after use.
  void Release(int64_t offset) const;

 private:
  MappedShard(std::string path, UniqueFd unpacked, absl::string_view bytes);

  const std::string path_;
  const UniqueFd unpacked_;  // Invalid unless the shard is compressed.
  const std::string mapped_path_;
  const absl::string_view bytes_;
};

// Location of an episode that has not been read yet.
struct EpisodePlace {
  const MappedShard* shard = nullptr;
  int64_t offset = 0;  // Where the record starts, with its header.
  int64_t bytes = 0;
  int64_t record = 0;  // Number in the shard.
  // Number of complete passes over the data set before this one.
  int64_t pass = 0;
};

struct EpisodeOrderOptions {
  // Shards that are read alternately.
  int read_interleave = 1;
  // Size of the shuffle buffer; 1: neither episodes nor shards are shuffled.
  int shuffle_buffer = 1;
  uint64_t seed = 0;
};

// The endless sequence of episodes of a data set. Reads `read_interleave`
// shards alternately, one record at a time, and draws from a buffer of
// `shuffle_buffer` episodes. After a full pass the next one starts with another
// order. The order depends on seed and data only. Only record headers are read.
// Not thread-safe.
class EpisodeOrder {
 public:
  EpisodeOrder(std::vector<std::string> shards,
               const EpisodeOrderOptions& options);

  // Returns the next episode. An error belongs to a shard, which is skipped for
  // the rest of the pass: the next call continues without it.
  // FailedPrecondition: a whole pass had no episode, and none will follow.
  absl::StatusOr<EpisodePlace> Next();

  // Passes over the next `count` results of Next, errors included, and returns
  // how many of them are episodes. Reads headers of two passes at most: what it
  // finds in the first tells how many results each pass has. REQUIRES: Next was
  // not called.
  absl::StatusOr<int64_t> Skip(int64_t count);
  // Number of complete passes.
  int64_t pass() const { return pass_; }

  // Unmaps the shards. REQUIRES: their episodes are no longer in use, and Next
  // is not called again.
  void Close() {
    open_.clear();
    shards_.clear();
  }

 private:
  struct Cursor {
    const MappedShard* shard;
    TfRecordCursor records;
  };

  void BeginPass();
  // Adds one location to the buffer; false at the end of the pass.
  absl::StatusOr<bool> ReadOne();
  absl::Status OpenNextShard();

  const std::vector<std::string> paths_;
  const EpisodeOrderOptions options_;
  // By path; null: not opened yet.
  std::vector<std::unique_ptr<MappedShard>> shards_;
  Random random_;
  int64_t pass_ = -1;
  int64_t found_in_pass_ = 0;
  std::vector<int> shard_order_;
  size_t next_shard_ = 0;
  std::vector<Cursor> open_;
  size_t turn_ = 0;
  std::vector<EpisodePlace> buffer_;
};

// Decoded frames that a later pair of the episode needs again. A copy is about
// fifteen times cheaper than decoding, but takes memory while it waits, so only
// a few are kept; the others are decoded again. All frames have the same size.
// Thread-safe.
class KeptFrames {
 public:
  static constexpr size_t kMost = 4;

  // Copies `bytes` of `frame`, unless enough are kept.
  void Keep(int step, const uint8_t* frame, size_t bytes);
  // Copies the frame to `out` and drops it: a frame is in two pairs at most.
  // False if it is not there.
  bool Take(int step, size_t bytes, uint8_t* out);

 private:
  struct Frame {
    int step;
    std::unique_ptr<uint8_t[]> pixels;
  };
  std::mutex mutex_;
  std::vector<Frame> frames_;
};

// Which metadata a sample carries.
enum class MetadataMode { kNone, kDatasetOnly, kFull };

struct EpisodeOptions {
  // Number of pairs to draw; 0: all of them, in order.
  int samples = 0;
  // Steps between the frames of a pair.
  int pair_offset = 1;
  MetadataMode metadata = MetadataMode::kNone;
  // Only the names of features are used. Outlives the episode's opening; null
  // means the names of feedrate's own episodes.
  const MixtureSource* source = nullptr;
  // The features that hold frames, instead of the source's image.
  std::vector<std::string> cameras;
  // Other features that hold numbers of steps; empty ones have none. Read with
  // MetadataMode::kFull.
  std::vector<std::string> numbers;
  // False for a record whose checksum was verified before.
  bool verify = true;
};

// An open episode. Holds its record, mapped. The shard must outlive it.
class Episode {
 public:
  // Reads the record, checks its checksum, finds its features and draws pairs
  // by `seed`. Errors name shard and record: DataLoss (checksum), NotFound
  // (missing feature), InvalidArgument (inconsistent features), OutOfRange
  // (fewer frames than the pairs need).
  static absl::StatusOr<std::unique_ptr<Episode>> Open(
      const EpisodePlace& place, const EpisodeOptions& options, uint64_t seed);
  Episode(const Episode&) = delete;
  Episode& operator=(const Episode&) = delete;

  const EpisodePlace& place() const { return place_; }
  // For messages: shard and record number.
  std::string name() const;

  // JPEG or PNG files, or names of frames of videos, by step. All cameras have
  // as many.
  const std::vector<absl::string_view>& frames(size_t camera = 0) const {
    return frames_[camera];
  }
  // First step of each pair.
  const std::vector<int>& pairs() const { return pairs_; }

  // For the decoder; does not change the episode itself.
  KeptFrames& kept() const { return kept_; }

  // Set with MetadataMode::kFull, else empty.
  absl::string_view id() const { return id_; }
  absl::string_view instruction(int step) const {
    return instructions_.empty()       ? absl::string_view()
           : instructions_.size() == 1 ? instructions_[0]
                                       : instructions_[step];
  }
  // Row of the step.
  const float* action(int step) const {
    return action_.data() + static_cast<size_t>(step) * action_width_;
  }
  const float* state(int step) const {
    return state_.data() + static_cast<size_t>(step) * state_width_;
  }
  int action_width() const { return action_width_; }
  int state_width() const { return state_width_; }
  // The same of EpisodeOptions::numbers.
  const float* number(size_t i, int step) const {
    return numbers_[i].data() + static_cast<size_t>(step) * number_widths_[i];
  }
  const std::vector<int>& number_widths() const { return number_widths_; }

 private:
  explicit Episode(const EpisodePlace& place) : place_(place) {}
  // Returns the data of the record after reading and checking it.
  absl::StatusOr<absl::string_view> ReadRecord(bool verify);
  absl::Status Read(const EpisodeOptions& options);
  absl::Status ReadFrames(const class ExampleView& example,
                          const std::vector<std::string>& cameras);
  absl::Status ReadMetadata(const class ExampleView& example,
                            const MixtureSource& names);
  absl::Status ReadNumbers(const class ExampleView& example,
                           const MixtureSource& source,
                           const std::vector<std::string>& features);
  absl::Status DrawPairs(const EpisodeOptions& options, uint64_t seed);
  absl::Status Named(const absl::Status& status) const;

  const EpisodePlace place_;
  MappedPart bytes_;
  std::vector<std::vector<absl::string_view>> frames_;  // By camera.
  std::vector<int> pairs_;
  mutable KeptFrames kept_;
  std::string id_;
  std::vector<absl::string_view> instructions_;  // None, one, or by step.
  std::vector<float> action_;
  std::vector<float> state_;
  int action_width_ = 0;
  int state_width_ = 0;
  std::vector<std::vector<float>> numbers_;
  std::vector<int> number_widths_;
};

}  // namespace feedrate
