// Which episodes of a data set come, one after the other, for ever.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_EPISODE_ORDER_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_EPISODE_ORDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/params.h"
#include "lib/loader/mixture/mapped_shard.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

// Where an episode lies, before anyone has looked at it.
struct EpisodePlace {
  const MappedShard* shard = nullptr;
  int64_t offset = 0;  // Of the record, its head included.
  int64_t bytes = 0;
  int64_t record = 0;  // Number in the shard.
  // How often the data set had been gone through before.
  int64_t pass = 0;
};

struct EpisodeOrderOptions {
  // Shards that are read in turns.
  int read_interleave = 1;
  // Episodes that one is drawn from; 1: no shuffling, of shards either.
  int shuffle_buffer = 1;
  uint64_t seed = 0;
};

// Goes through the shards, `read_interleave` of them in turns, a record of
// each, and draws from a buffer of `shuffle_buffer` places. When all have come,
// the next pass begins with another order. The order depends on seed and data
// alone. Only heads of records are read. Not thread-safe.
class EpisodeOrder {
 public:
  EpisodeOrder(std::vector<std::string> shards,
               const EpisodeOrderOptions& options);

  // The next episode. An error is that of a shard, which is left out for the
  // rest of the pass: the next call goes on without it. FailedPrecondition: a
  // whole pass had no episode at all, and there will be none.
  absl::StatusOr<EpisodePlace> Next();

  // Unmaps the shards. REQUIRES: nobody looks at their episodes, or calls Next.
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
  // Adds one place to the buffer; false at the end of the pass.
  absl::StatusOr<bool> ReadOne();
  absl::Status OpenNextShard();

  const std::vector<std::string> paths_;
  const EpisodeOrderOptions options_;
  std::vector<std::unique_ptr<MappedShard>> shards_;  // By path; null: not yet.
  Random random_;
  int64_t pass_ = -1;
  int64_t found_in_pass_ = 0;
  std::vector<int> shard_order_;
  size_t next_shard_ = 0;
  std::vector<Cursor> open_;
  size_t turn_ = 0;
  std::vector<EpisodePlace> buffer_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_EPISODE_ORDER_H_
