// Which items an epoch has, how often, and in which order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/audit/history.h"

namespace feedrate {

using Batches = std::vector<const SeenBatch*>;

// What an epoch has of each item.
struct EpochCoverage {
  std::vector<int64_t> missing;
  std::vector<int64_t> repeated;
  // Items of validation among those of training.
  int64_t leaked = 0;
  int64_t unreadable = 0;
  int64_t samples = 0;
  size_t largest_batch = 0;
  size_t ranks = 1;
  bool equal_sizes = true;
  // Deliveries beyond the first.
  int64_t extra = 0;

  // What cannot be read may be what is missing.
  int64_t lost() const {
    return std::max<int64_t>(0,
                             static_cast<int64_t>(missing.size()) - unreadable);
  }
};

// The items of a batch, each once.
std::vector<int64_t> ItemsOf(const SeenBatch& batch);

template <typename Visit>
void VisitBatches(const SeenEpoch& epoch, const Visit& visit) {
  for (const Piece& piece : epoch.pieces) {
    for (const Batches& rank : piece.ranks) {
      for (const SeenBatch* batch : rank) visit(*batch);
    }
  }
}

// What the epoch has of the items first … first+items-1, among `all_items`.
EpochCoverage CoverageOf(const SeenEpoch& epoch, int64_t first, int64_t items,
                         int64_t all_items);

// Items of 0 … items-1 that only evaluation saw, where it saw no others of
// these: a training that split one folder itself.
std::set<int64_t> HeldOut(const TrainingRun& run, int64_t items);

// What a step of all ranks takes at most.
int64_t StepItems(const EpochCoverage& found);

// Whether the epoch lacks only what fills no batch.
bool DropsRemainder(const SeenEpoch& epoch, const EpochCoverage& found);

// Whether the repeated items only fill the last batches of ranks.
bool PadsRanks(const SeenEpoch& epoch, const EpochCoverage& found);

// "31 seen twice, all from the 31 samples before the restart".
std::string RepeatedWords(const SeenEpoch& epoch, const EpochCoverage& found);

std::vector<int64_t> IdsOf(const Batches& batches);

// All that rank `rank` saw in an epoch.
std::vector<int64_t> OrderOf(const SeenEpoch& epoch, size_t rank);

}  // namespace feedrate
