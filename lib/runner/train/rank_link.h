// What `train` on several nodes says among itself: rank 0 decides which
// trainings run, the others start their part of each.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_RANK_LINK_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_RANK_LINK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"
#include "lib/runner/train/slurm_step.h"
#include "lib/worker/process.h"

namespace feedrate {

// One training as the other ranks need to know it: the library, and the words
// of its process without the rank.
struct RankOrder {
  std::string library;
  std::vector<std::string> words;
};

// Rank 0's end.
class RankLeader {
 public:
  // Waits until all others are there. DeadlineExceeded says how many were.
  static absl::StatusOr<std::unique_ptr<RankLeader>> Gather(
      const SlurmStep& step, absl::Duration patience);

  // Unavailable when one of the others is gone.
  absl::Status Order(const RankOrder& order);

 private:
  std::vector<UniqueFd> followers_;
};

// The end of each other rank.
class RankFollower {
 public:
  // Tries until the leader listens. DeadlineExceeded names where it was sought.
  static absl::StatusOr<std::unique_ptr<RankFollower>> Join(
      const SlurmStep& step, absl::Duration patience);

  // Waits for the next; nothing once the leader has ended. Cancelled when
  // `interrupt_fd` becomes readable.
  absl::StatusOr<absl::optional<RankOrder>> Next(int interrupt_fd);

 private:
  explicit RankFollower(UniqueFd fd) : inbox_(std::move(fd)) {}
  LineInbox inbox_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_RANK_LINK_H_
