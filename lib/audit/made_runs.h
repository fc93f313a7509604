// Trainings that tests make up, and what is wrong with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "lib/audit/history.h"
#include "lib/audit/judge.h"
#include "lib/base/xoshiro.h"

namespace feedrate {

inline constexpr int64_t kItems = 100;
inline constexpr int64_t kBatch = 10;

inline AuditItems Items() {
  AuditItems items;
  items.set_items(kItems);
  items.set_validation_items(20);
  items.set_classes(10);
  return items;
}

inline std::vector<int64_t> Shuffled(uint64_t seed) {
  std::vector<int64_t> ids(kItems);
  std::iota(ids.begin(), ids.end(), 0);
  Xoshiro256 random(seed);
  for (size_t i = ids.size(); i > 1; --i) {
    std::swap(ids[i - 1], ids[random.Below(i)]);
  }
  return ids;
}

// A run of trainings that are right until a test changes them. The weights are
// the number of steps so far, plus one.
class Runs {
 public:
  // Adds an epoch to the last life: batches `first` to `last` of the order.
  void Pass(const std::vector<int64_t>& order, int64_t first = 0,
            int64_t last = -1, bool ended = true) {
    SeenRank& rank = this->rank();
    SeenPass pass;
    pass.number = static_cast<int64_t>(rank.passes.size()) + 1;
    pass.ended = ended;
    pass.drop_last = drop_last;
    const auto size = static_cast<int64_t>(order.size());
    if (last < 0) last = (size + kBatch - 1) / kBatch;
    for (int64_t b = first; b < last; ++b) {
      SeenBatch batch;
      batch.pass = pass.number;
      batch.weights = ++weights;
      for (int64_t i = b * kBatch; i < std::min(size, (b + 1) * kBatch); ++i) {
        batch.ids.push_back(order[i]);
        batch.labels.push_back(order[i] % 10);
        batch.draws.push_back(draw ? draw() : 0);
      }
      rank.training.push_back(batch);
    }
    rank.passes.push_back(pass);
  }
  // Starts again with the weights before step `steps`.
  void Restart(int64_t steps) {
    run.lives.back().killed_rank = 0;
    run.lives.emplace_back().ranks.resize(1);
    weights = steps;
  }
  SeenRank& rank() {
    if (run.lives.empty()) run.lives.emplace_back().ranks.resize(1);
    std::vector<SeenRank>& ranks = run.lives.back().ranks;
    if (ranks.size() <= rank_index) ranks.resize(rank_index + 1);
    return ranks[rank_index];
  }

  TrainingRun run;
  int64_t weights = 0;
  size_t rank_index = 0;
  absl::optional<bool> drop_last;
  std::function<int64_t()> draw;
};

inline Runs TwoEpochs() {
  Runs runs;
  runs.Pass(Shuffled(1));
  runs.Pass(Shuffled(2));
  return runs;
}

inline std::vector<std::string> FaultsOf(const Runs& whole,
                                         const Runs* killed = nullptr) {
  Audit audit;
  JudgeTraining(Items(), whole.run, killed == nullptr ? nullptr : &killed->run,
                {}, &audit);
  return {audit.faults().begin(), audit.faults().end()};
}

// The ranks of an epoch.
inline Runs Ranks(const std::vector<std::vector<int64_t>>& ranks) {
  Runs runs;
  for (const std::vector<int64_t>& ids : ranks) {
    runs.weights = 0;
    runs.Pass(ids);
    ++runs.rank_index;
  }
  return runs;
}

}  // namespace feedrate
