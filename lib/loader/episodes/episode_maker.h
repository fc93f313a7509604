// Writes samples of an EpisodeSet, and keeps the episodes opened last.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "lib/loader/episodes/episode_set.h"
#include "lib/loader/made_source.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/sample/sample_maker.h"

namespace feedrate {

// Episodes that were used last. Thread-safe.
class EpisodeCache {
 public:
  explicit EpisodeCache(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Null if it is not there.
  std::shared_ptr<const Episode> Find(int64_t entry);
  void Keep(int64_t entry, int64_t bytes,
            std::shared_ptr<const Episode> episode);

 private:
  struct Kept {
    int64_t entry;
    int64_t bytes;
    std::shared_ptr<const Episode> episode;
  };

  const int64_t most_bytes_;
  std::mutex mutex_;
  int64_t bytes_ = 0;
  std::list<Kept> kept_;  // The last one used comes first.
  std::map<int64_t, std::list<Kept>::iterator> places_;
};

class EpisodeMaker : public ItemMaker {
 public:
  // Writes to batches of `capacity` samples: of the set's batches, or, without
  // offsets, of whole episodes.
  EpisodeMaker(const EpisodeSet& set, const EpisodeLayout& layout,
               int64_t capacity);

  // For the batches that follow.
  void set_capacity(int64_t capacity) { capacity_ = capacity; }

  absl::Status Make(int64_t item, uint64_t seed, absl::string_view bytes,
                    void* batch, int place) override;

 private:
  struct Sample;

  absl::Status MakeFrames(const Sample& sample, size_t camera, uint64_t seed);
  absl::Status MakeFrame(absl::string_view file, uint64_t seed, uint8_t* out);

  const EpisodeSet& set_;
  const EpisodeLayout& layout_;
  int64_t capacity_;
  const Normalization normalization_;
  FrameDecoder decoder_;
  std::vector<uint8_t> pixels_;
  // Null without a recipe, and for whole episodes.
  std::unique_ptr<SampleMaker> recipe_;
};

}  // namespace feedrate
