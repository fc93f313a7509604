// Which item stands where in an epoch, and what its random draws begin with.
#ifndef FEEDRATE_LIB_LOADER_ITEM_ORDER_H_
#define FEEDRATE_LIB_LOADER_ITEM_ORDER_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/adapters/worker/params.h"

namespace feedrate {

// Two numbers made one, so that neighbours have nothing in common.
inline uint64_t MixSeeds(uint64_t a, uint64_t b) {
  return Random(Random(a).Next() ^ (b * 0xD6E8FEB86659FD93u)).Next();
}

// Draws for an item depend on these three alone: not on the thread that makes
// it, nor on what was made before.
inline uint64_t ItemSeed(uint64_t seed, int64_t epoch, int64_t item) {
  return MixSeeds(MixSeeds(seed, static_cast<uint64_t>(epoch)),
                  static_cast<uint64_t>(item));
}

// What the mixing of batch `batch` begins with: other draws than those of any
// item, and the same for every loader, so that all mix the same pairs.
inline uint64_t MixSeed(uint64_t seed, int64_t epoch, int64_t batch) {
  constexpr int64_t kMixing = -2;
  return MixSeeds(ItemSeed(seed, epoch, kMixing), static_cast<uint64_t>(batch));
}

// Positions 0 to count - 1 of an epoch.
class ItemOrder {
 public:
  // The items first, first + 1, ..., round through `num_items`; shuffled, they
  // are the same in an order that seed and epoch decide. REQUIRES: first and
  // count are not negative, num_items > 0 unless count is 0.
  ItemOrder(int64_t first, int64_t count, int64_t num_items, bool shuffle,
            uint64_t seed, int64_t epoch)
      : first_(first), count_(count), num_items_(num_items) {
    if (!shuffle) return;
    shuffled_.resize(count);
    std::iota(shuffled_.begin(), shuffled_.end(), int64_t{0});
    // Other draws than those of any item.
    Random random(ItemSeed(~seed, epoch, -1));
    random.Shuffle(&shuffled_);
  }

  int64_t count() const { return count_; }
  int64_t Item(int64_t position) const {
    const int64_t step = shuffled_.empty() ? position : shuffled_[position];
    return (first_ + step) % num_items_;
  }

 private:
  int64_t first_;
  int64_t count_;
  int64_t num_items_;
  std::vector<int64_t> shuffled_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_ITEM_ORDER_H_
