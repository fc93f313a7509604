#include "lib/loader/mixture/mix_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/adapters/worker/params.h"
#include "lib/loader/item_order.h"

namespace feedrate {

MixOrder::MixOrder(const std::vector<double>& weights, int block, int prime,
                   uint64_t seed)
    : rising_(weights), block_(block), prime_(prime), seed_(seed) {
  std::partial_sum(rising_.begin(), rising_.end(), rising_.begin());
  const double total = rising_.back();
  for (double& share : rising_) share /= total;
}

int MixOrder::DatasetAt(int64_t position) const {
  const auto datasets = static_cast<int64_t>(rising_.size());
  if (position < prime_ * datasets) {
    return static_cast<int>(position / prime_);
  }
  const int64_t block = (position - prime_ * datasets) / block_;
  const double drawn =
      Random(MixSeeds(seed_, static_cast<uint64_t>(block))).Unit();
  const auto found = std::upper_bound(rising_.begin(), rising_.end(), drawn);
  // Rounding may leave the last sum below 1.
  return static_cast<int>(
      std::min<int64_t>(found - rising_.begin(), datasets - 1));
}

int64_t MixOrder::BlockEnd(int64_t position) const {
  const int64_t primed = prime_ * static_cast<int64_t>(rising_.size());
  if (position < primed) return (position / prime_ + 1) * prime_;
  return primed + ((position - primed) / block_ + 1) * block_;
}

}  // namespace feedrate
