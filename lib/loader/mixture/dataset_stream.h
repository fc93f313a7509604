// Samples of one data set, one after the other, for ever.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_DATASET_STREAM_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_DATASET_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/mixture/episode_order.h"

namespace feedrate {

struct DatasetStreamOptions {
  EpisodeOrderOptions order;
  EpisodeOptions episode;
  // Episodes that are open or being opened at most, the one in use included.
  int ahead = 2;
  // What cannot be used is an error; otherwise it is passed over.
  bool fail = true;
  uint64_t seed = 0;
};

// A pair of frames that is to be decoded.
struct PlannedSample {
  std::shared_ptr<const Episode> episode;
  int step = 0;
  // Of the episode's pairs: the one after it.
  size_t next_pair = 0;
};

// Episodes are put into line in their order and opened by whoever comes, so the
// samples are the same for any number of threads. All methods but Opening::Run
// are called under one lock of the owner's.
class DatasetStream {
 public:
  // Gets what was passed over: place and reason.
  using OnFault =
      std::function<void(const std::string& name, const std::string& reason)>;

  DatasetStream(std::string name, const std::vector<std::string>& shards,
                const DatasetStreamOptions& options, OnFault on_fault);

  const std::string& name() const { return name_; }

  // An episode in line. Run is called once, without the lock; then the owner
  // calls Opened under it.
  class Opening {
   public:
    void Run();

   private:
    friend class DatasetStream;
    EpisodePlace place_;
    EpisodeOptions options_;
    uint64_t seed_ = 0;
    // Of the shard, found before any episode: nothing to open.
    absl::Status found_;
    absl::StatusOr<std::unique_ptr<Episode>> result_ =
        absl::UnknownError("not opened");
    bool is_open_ = false;
  };

  // The next episode to be opened; null when enough are.
  std::shared_ptr<Opening> Begin();
  void Opened(const std::shared_ptr<Opening>& opening);

  // Whether Settle would not have to wait: an episode is in use, the first in
  // line is open, or the stream has ended in an error.
  bool ready() const;
  // Brings an episode into use where none is. False: the first in line turned
  // out to be unusable and was passed over; call again once ready. The stream's
  // error is final. REQUIRES: ready().
  absl::StatusOr<bool> Settle();
  // The next sample. REQUIRES: Settle returned true.
  PlannedSample Next();
  // How many samples can be taken from the episode in use, in order, now.
  int64_t left_in_episode() const;

  // Lets all episodes and shards go; nothing comes any more.
  void Close();

  // Largest episode that was opened.
  int64_t largest_bytes() const { return largest_bytes_; }

 private:
  absl::Status PassOver(const std::string& name, const absl::Status& status);

  const std::string name_;
  const DatasetStreamOptions options_;
  const OnFault on_fault_;
  EpisodeOrder order_;
  std::deque<std::shared_ptr<Opening>> line_;
  int64_t planned_ = 0;
  int64_t last_good_pass_ = -1;
  absl::Status end_;
  std::shared_ptr<const Episode> current_;
  size_t next_pair_ = 0;
  int64_t largest_bytes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_DATASET_STREAM_H_
