// What the processes of a training noted -> the epochs that its weights are
// made of, over kills and restarts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/records/audit_worker.pb.h"

namespace feedrate {

// One batch that a model got.
struct SeenBatch {
  // Where it came from; see AuditLine.
  int64_t pass = 0;
  int64_t weights = 0;
  double time_s = 0;
  double wait_s = 0;
  int64_t rss_bytes = 0;
  std::vector<int64_t> ids;
  std::vector<int64_t> seconds;
  std::vector<int64_t> draws;
  std::vector<int64_t> labels;
};

// One iteration of a loader in one process.
struct SeenPass {
  int64_t number = 0;
  // Number of batches that were promised; -1 if unknown.
  int64_t length = -1;
  absl::optional<bool> drop_last;
  bool replacement = false;
  bool ended = false;
  // Whether it ended before a batch came.
  bool empty = false;
};

// What one rank saw from its start to its end.
struct SeenRank {
  std::vector<SeenBatch> training;
  std::vector<SeenBatch> evaluation;
  std::vector<SeenPass> passes;
  // The hash of the weights after the last step; 0 if unknown. A model's is
  // noted where Python ends by itself.
  int64_t end_weights = 0;
};

// A training from a start to its end or kill.
struct Life {
  std::vector<SeenRank> ranks;
  // What could not be seen.
  std::vector<std::string> problems;
  // The rank at whose step all were killed; -1 if the training ended by itself.
  int killed_rank = -1;
};

// Puts together what the processes of a life wrote, each a list of lines. Of
// several models, takes the one that trains most.
Life LifeOf(const std::vector<std::vector<AuditLine>>& processes);

// A training that is started again after each kill.
struct TrainingRun {
  std::string name;
  std::vector<Life> lives;
};

// The part of an epoch that one life trained on: the batches of each rank.
struct Piece {
  size_t life = 0;
  std::vector<std::vector<const SeenBatch*>> ranks;
};

struct SeenEpoch {
  // More than one if it was interrupted.
  std::vector<Piece> pieces;
  // Whether its loader came to an end.
  bool whole = false;
  bool replacement = false;
  // It may be the rest of one that began before a restart.
  bool may_be_rest = false;
  absl::optional<bool> drop_last;
};

// Where a restart went on.
struct Restart {
  // Empty, or why nothing is said about it.
  std::string reason;
  // Whether it trained on, and where from is not known.
  bool is_unknown = false;
  // The number of steps that the weights forgot.
  int64_t steps_lost = 0;
  // Whether it began with the weights of the very first step.
  bool from_scratch = false;
};

struct History {
  std::vector<SeenEpoch> epochs;
  // One per life but the first.
  std::vector<Restart> restarts;
  // Whether loaders say where an epoch begins. Without it, epochs have as many
  // samples each.
  bool has_passes = false;
  // Parts of batches in which one epoch ends and the next begins.
  std::vector<std::unique_ptr<const SeenBatch>> parts;
};

// How many samples an epoch has, as the first one of a training without kills
// tells: fewer than `items` if its loader says nothing and leaves out a last
// step that is not full. REQUIRES: the run has a life.
int64_t EpochSamples(const TrainingRun& whole, int64_t items);

// A restart continues at the step before which the weights were what they are
// at its first step; the steps after it are forgotten, as the training forgot
// them. REQUIRES: the run has a life.
History HistoryOf(const TrainingRun& run, int64_t epoch_samples);

}  // namespace feedrate
