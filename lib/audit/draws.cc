#include "lib/audit/draws.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

// The three numbers of a draw are of 255. Reading them of other items changes
// them by less than this; a flip changes them by 40 and more.
constexpr int kNear = 12;
constexpr double kChance = 1e-6;
// Some samples of a batch may be read badly.
constexpr double kMostOf = 0.9;

bool IsNear(int64_t a, int64_t b) {
  for (const int shift : {0, 8, 16}) {
    if (std::abs((a >> shift & 255) - (b >> shift & 255)) > kNear) return false;
  }
  return true;
}

// The share of pairs of neighbors that have the same draw.
double Likeness(const std::vector<SeenBatch>& batches) {
  int64_t near = 0, pairs = 0;
  for (const SeenBatch& batch : batches) {
    for (size_t i = 1; i < batch.draws.size(); ++i) {
      near += IsNear(batch.draws[i - 1], batch.draws[i]) ? 1 : 0;
      ++pairs;
    }
  }
  return pairs == 0 ? 1
                    : static_cast<double>(near) / static_cast<double>(pairs);
}

bool HasSameDraws(const SeenBatch& a, const SeenBatch& b) {
  if (a.draws.size() != b.draws.size()) return false;
  size_t near = 0;
  for (size_t i = 0; i < a.draws.size(); ++i) {
    near += IsNear(a.draws[i], b.draws[i]) ? 1 : 0;
  }
  return static_cast<double>(near) >=
         kMostOf * static_cast<double>(a.draws.size());
}

void JudgeRank(const SeenRank& rank, bool* by_item, bool* in_epoch,
               bool* over_epochs) {
  const double likeness = Likeness(rank.training);
  if (likeness > 0.8) return;
  std::map<int64_t, std::vector<const SeenBatch*>> passes;
  // The draws of each item, by pass.
  std::map<int64_t, std::map<int64_t, int64_t>> draws;
  for (const SeenBatch& batch : rank.training) {
    if (batch.draws.size() != batch.ids.size()) continue;
    passes[batch.pass].push_back(&batch);
    for (size_t i = 0; i < batch.ids.size(); ++i) {
      if (batch.ids[i] >= 0) draws[batch.ids[i]][batch.pass] = batch.draws[i];
    }
  }
  int64_t same = 0, pairs = 0;
  for (const auto& [id, of] : draws) {
    for (auto next = of.begin(); next != of.end();) {
      const auto last = next++;
      if (next == of.end()) break;
      same += IsNear(last->second, next->second) ? 1 : 0;
      ++pairs;
    }
  }
  const auto n = static_cast<double>(pairs);
  if (pairs > 0 && static_cast<double>(same) >= 0.95 * n &&
      std::pow(likeness, 0.9 * n) < kChance) {
    *by_item = true;
    return;
  }
  // Batches that have the draws of an earlier one.
  int64_t inside = 0, across = 0, batches = 0;
  std::vector<const SeenBatch*> earlier;
  for (const auto& [pass, list] : passes) {
    for (size_t i = 0; i < list.size(); ++i) {
      const auto size = static_cast<double>(list[i]->draws.size());
      if (std::pow(likeness, kMostOf * size) *
              static_cast<double>(rank.training.size()) >
          kChance * 1000) {
        continue;
      }
      ++batches;
      bool found = false;
      for (size_t j = 0; j < i && !found; ++j) {
        found = HasSameDraws(*list[i], *list[j]);
      }
      inside += found ? 1 : 0;
      for (size_t j = 0; j < earlier.size() && !found; ++j) {
        found = HasSameDraws(*list[i], *earlier[j]);
        across += found ? 1 : 0;
      }
    }
    earlier.insert(earlier.end(), list.begin(), list.end());
  }
  *in_epoch = *in_epoch || (batches > 1 && 3 * inside >= batches);
  *over_epochs = *over_epochs || (batches > 1 && 3 * across >= batches);
}

}  // namespace

std::vector<std::string> RepeatedDraws(const TrainingRun& run) {
  bool by_item = false, in_epoch = false, over_epochs = false;
  for (const Life& life : run.lives) {
    for (const SeenRank& rank : life.ranks) {
      JudgeRank(rank, &by_item, &in_epoch, &over_epochs);
    }
  }
  std::vector<std::string> faults;
  if (by_item) {
    faults.push_back("every item is augmented the same way in each epoch");
  }
  if (in_epoch) {
    faults.push_back(
        "loader workers repeat the same augmentation draws: seed each of them "
        "differently");
  }
  if (over_epochs) {
    faults.push_back(
        "the augmentation draws of an epoch repeat those of "
        "another one");
  }
  return faults;
}

}  // namespace feedrate
