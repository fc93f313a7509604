#include "lib/audit/epoch_coverage.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace feedrate {

// The items of a batch. Where images are mixed, they share a batch, and each
// item may be the second of another one: counted once.
std::vector<int64_t> ItemsOf(const SeenBatch& batch) {
  if (batch.seconds.empty()) return batch.ids;
  std::set<int64_t> items(batch.ids.begin(), batch.ids.end());
  items.insert(batch.seconds.begin(), batch.seconds.end());
  items.erase(-1);
  std::vector<int64_t> all(items.begin(), items.end());
  all.insert(all.end(), absl::c_count(batch.ids, -1), -1);
  return all;
}

EpochCoverage CoverageOf(const SeenEpoch& epoch, int64_t first, int64_t items,
                         int64_t all_items) {
  EpochCoverage found;
  std::vector<int64_t> counts(items);
  std::set<size_t> sizes;
  VisitBatches(epoch, [&](const SeenBatch& batch) {
    sizes.insert(batch.ids.size());
    found.samples += static_cast<int64_t>(batch.ids.size());
    for (const int64_t id : ItemsOf(batch)) {
      if (id >= first && id < first + items) {
        ++counts[id - first];
      } else if (id >= 0 && id < all_items) {
        ++found.leaked;
      } else {
        ++found.unreadable;
      }
    }
  });
  for (const Piece& piece : epoch.pieces) {
    found.ranks = std::max(found.ranks, piece.ranks.size());
  }
  if (!sizes.empty()) found.largest_batch = *sizes.rbegin();
  found.equal_sizes = sizes.size() <= 1;
  for (int64_t id = 0; id < items; ++id) {
    if (counts[id] == 0) found.missing.push_back(first + id);
    if (counts[id] > 1) found.repeated.push_back(first + id);
    found.extra += std::max<int64_t>(0, counts[id] - 1);
  }
  return found;
}

std::set<int64_t> HeldOut(const TrainingRun& run, int64_t items) {
  std::set<int64_t> trained, evaluated;
  for (const Life& life : run.lives) {
    for (const SeenRank& rank : life.ranks) {
      for (const SeenBatch& batch : rank.training) {
        for (const int64_t id : ItemsOf(batch)) trained.insert(id);
      }
      for (const SeenBatch& batch : rank.evaluation) {
        for (const int64_t id : ItemsOf(batch)) {
          if (id >= 0 && id < items) evaluated.insert(id);
        }
      }
    }
  }
  const bool is_apart = absl::c_none_of(
      evaluated, [&](int64_t id) { return trained.count(id) > 0; });
  return is_apart ? evaluated : std::set<int64_t>();
}

// What a step of all ranks takes at most.
int64_t StepItems(const EpochCoverage& found) {
  return static_cast<int64_t>(found.largest_batch * found.ranks);
}

// Whether the epoch lacks only what fills no batch.
bool DropsRemainder(const SeenEpoch& epoch, const EpochCoverage& found) {
  if (!found.repeated.empty() || found.lost() == 0) return false;
  return found.lost() < StepItems(found) &&
         epoch.drop_last.value_or(found.equal_sizes);
}

// Whether the repeated items only fill the last batches of ranks.
bool PadsRanks(const SeenEpoch& epoch, const EpochCoverage& found) {
  if (found.ranks < 2 || found.extra == 0 || found.lost() > 0) return false;
  // A sampler gives each rank as many items, or a loader as many full batches.
  if (found.extra >= (found.equal_sizes ? StepItems(found)
                                        : static_cast<int64_t>(found.ranks))) {
    return false;
  }
  std::set<int64_t> last;
  for (const Piece& piece : epoch.pieces) {
    for (const Batches& rank : piece.ranks) {
      if (rank.size() != piece.ranks[0].size()) return false;
      if (!rank.empty()) {
        last.insert(rank.back()->ids.begin(), rank.back()->ids.end());
      }
    }
  }
  return absl::c_all_of(found.repeated,
                        [&](int64_t id) { return last.count(id) > 0; });
}

std::vector<int64_t> IdsOf(const Batches& batches) {
  std::vector<int64_t> ids;
  for (const SeenBatch* batch : batches) {
    const std::vector<int64_t> more = ItemsOf(*batch);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

// All that rank `rank` saw in an epoch.
std::vector<int64_t> OrderOf(const SeenEpoch& epoch, size_t rank) {
  std::vector<int64_t> ids;
  for (const Piece& piece : epoch.pieces) {
    if (rank >= piece.ranks.size()) continue;
    const std::vector<int64_t> more = IdsOf(piece.ranks[rank]);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

namespace {

int64_t SharedByRanks(const SeenEpoch& epoch, const EpochCoverage& found) {
  std::map<int64_t, std::set<size_t>> owners;
  for (const Piece& piece : epoch.pieces) {
    for (size_t r = 0; r < piece.ranks.size(); ++r) {
      for (const int64_t id : IdsOf(piece.ranks[r])) owners[id].insert(r);
    }
  }
  return absl::c_count_if(found.repeated,
                          [&](int64_t id) { return owners[id].size() > 1; });
}

}  // namespace

std::string RepeatedWords(const SeenEpoch& epoch, const EpochCoverage& found) {
  const int64_t count = static_cast<int64_t>(found.repeated.size());
  std::string text = absl::StrCat(
      count, " seen ",
      found.extra > count ? absl::StrCat(found.extra + count, " times in all")
                          : "twice");
  if (epoch.pieces.size() < 2) {
    const int64_t shared = SharedByRanks(epoch, found);
    if (shared > 0)
      absl::StrAppend(&text, ", ", shared, " of them by two ranks");
    return text;
  }
  // The samples before the last restart of this epoch, the last ones first.
  std::vector<int64_t> before;
  for (size_t p = 0; p + 1 < epoch.pieces.size(); ++p) {
    size_t steps = 0;
    for (const Batches& rank : epoch.pieces[p].ranks) {
      steps = std::max(steps, rank.size());
    }
    for (size_t step = 0; step < steps; ++step) {
      for (const Batches& rank : epoch.pieces[p].ranks) {
        if (step >= rank.size()) continue;
        before.insert(before.end(), rank[step]->ids.begin(),
                      rank[step]->ids.end());
      }
    }
  }
  const std::set<int64_t> repeated(found.repeated.begin(),
                                   found.repeated.end());
  size_t tail = 0;
  std::set<int64_t> met;
  while (tail < before.size() && met.size() < repeated.size()) {
    const int64_t id = before[before.size() - ++tail];
    if (repeated.count(id) > 0) met.insert(id);
  }
  if (met.size() == repeated.size()) {
    absl::StrAppend(&text, ", all from the ", tail,
                    " samples before the restart");
  }
  return text;
}

}  // namespace feedrate
