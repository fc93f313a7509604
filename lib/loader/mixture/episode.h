// One episode, opened: where its frames are, and what belongs to them.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_EPISODE_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_EPISODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/episode_order.h"
#include "lib/loader/mixture/kept_frames.h"
#include "lib/loader/mixture/mapped_shard.h"

namespace feedrate {

// What a sample carries beside its frames.
enum class MetadataMode { kNone, kDatasetOnly, kFull };

struct EpisodeOptions {
  // Pairs that are drawn; 0: all of them, in order.
  int samples = 0;
  // Steps between the frames of a pair.
  int pair_offset = 1;
  MetadataMode metadata = MetadataMode::kNone;
};

// Holds the bytes of its record, mapped. The shard outlives it.
class Episode {
 public:
  // Reads the record, holds it against its checksum, finds its features and
  // draws pairs by `seed`. Errors name shard and record: DataLoss (a checksum),
  // NotFound (a feature is missing), InvalidArgument (features that do not go
  // together), OutOfRange (fewer frames than the pairs need).
  static absl::StatusOr<std::unique_ptr<Episode>> Open(
      const EpisodePlace& place, const EpisodeOptions& options, uint64_t seed);
  Episode(const Episode&) = delete;
  Episode& operator=(const Episode&) = delete;

  const EpisodePlace& place() const { return place_; }
  // For messages: the shard and the number of the record.
  std::string name() const;

  // JPEG, by step.
  const std::vector<absl::string_view>& frames() const { return frames_; }
  // First steps of the pairs.
  const std::vector<int>& pairs() const { return pairs_; }

  // For who decodes; it changes nothing of the episode.
  KeptFrames& kept() const { return kept_; }

  // With MetadataMode::kFull; else empty.
  absl::string_view id() const { return id_; }
  absl::string_view instruction() const { return instruction_; }
  // The step's row.
  const float* action(int step) const {
    return action_.data() + static_cast<size_t>(step) * action_width_;
  }
  const float* state(int step) const {
    return state_.data() + static_cast<size_t>(step) * state_width_;
  }
  int action_width() const { return action_width_; }
  int state_width() const { return state_width_; }

 private:
  explicit Episode(const EpisodePlace& place) : place_(place) {}
  // The record's data, once it is read and checked.
  absl::StatusOr<absl::string_view> ReadRecord();
  absl::Status Read(const EpisodeOptions& options);
  absl::Status ReadMetadata(const class ExampleView& example);
  absl::Status DrawPairs(const EpisodeOptions& options, uint64_t seed);
  absl::Status Named(const absl::Status& status) const;

  const EpisodePlace place_;
  MappedPart bytes_;
  std::vector<absl::string_view> frames_;
  std::vector<int> pairs_;
  mutable KeptFrames kept_;
  absl::string_view id_;
  absl::string_view instruction_;
  std::vector<float> action_;
  std::vector<float> state_;
  int action_width_ = 0;
  int state_width_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_EPISODE_H_
