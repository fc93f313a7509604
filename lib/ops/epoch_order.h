// In which order the items of an epoch are read, which of them a process takes,
// and the seeds of their random draws: the same for all of our loaders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "lib/ops/params.h"

namespace feedrate {

// Combines two numbers, so that neighboring inputs give unrelated results.
inline uint64_t MixSeeds(uint64_t a, uint64_t b) {
  return Random(Random(a).Next() ^ (b * 0xD6E8FEB86659FD93u)).Next();
}

// Seed for the draws of an item. It depends on these three values only, not on
// the thread or on earlier items.
inline uint64_t ItemSeed(uint64_t seed, int64_t epoch, int64_t item) {
  return MixSeeds(MixSeeds(seed, static_cast<uint64_t>(epoch)),
                  static_cast<uint64_t>(item));
}

// Seed for mixing batch `batch`. It differs from every item's seed, and is the
// same for all loaders, so that they mix the same pairs.
inline uint64_t MixSeed(uint64_t seed, int64_t epoch, int64_t batch) {
  constexpr int64_t kMixing = -2;
  return MixSeeds(ItemSeed(seed, epoch, kMixing), static_cast<uint64_t>(batch));
}

// What one of several processes takes of an epoch: of the order of all items,
// positions start + rank, start + rank + world, and so on. After each process
// has taken n items, the first start + n * world positions are done, so that
// another number of processes can continue there.
struct EpochShare {
  int64_t start = 0;
  int64_t rank = 0;
  int64_t world = 1;
  // What becomes of items that do not make a full batch in every process.
  // kKeep: each item is delivered once, and last batches are smaller. kPad: the
  // first items of the epoch again, until all processes have as many. kDrop:
  // only full batches, as many in each process.
  enum class Tail { kKeep, kPad, kDrop };
  Tail tail = Tail::kKeep;

  // Number of items in the share.
  int64_t Count(int64_t num_items, int64_t batch_size) const {
    const int64_t left = num_items > start ? num_items - start : 0;
    switch (tail) {
      case Tail::kKeep:
        return left > rank ? (left - rank + world - 1) / world : 0;
      case Tail::kPad:
        return (left + world - 1) / world;
      case Tail::kDrop:
        return left / (world * batch_size) * batch_size;
    }
    return 0;
  }

  // With kKeep, true if some processes have one sample more than full batches,
  // and the others can split their last batch to have as many batches: its last
  // sample is then a batch. Not possible in batches of one, or if the others
  // have no sample at all.
  bool Splits(int64_t num_items, int64_t batch_size) const {
    const int64_t left = num_items > start ? num_items - start : 0;
    return tail == Tail::kKeep && batch_size > 1 && left > world &&
           left % world > 0 && left / world % batch_size == 0;
  }

  // Number of batches in the share.
  int64_t Batches(int64_t num_items, int64_t batch_size) const {
    const int64_t count = Count(num_items, batch_size);
    const bool has_one_more =
        Splits(num_items, batch_size) && count % batch_size == 0;
    return (count + batch_size - 1) / batch_size + (has_one_more ? 1 : 0);
  }

  // Where another share continues after each process has taken `batches`
  // batches, at least one of them and not all.
  int64_t StartAfter(int64_t batches, int64_t num_items,
                     int64_t batch_size) const {
    const int64_t after = start + batches * batch_size * world;
    return Splits(num_items, batch_size) ? std::min(after, num_items - world)
                                         : after;
  }
};

// Order of an epoch: maps positions 0 to count - 1 to items.
class ItemOrder {
 public:
  // Items first, first + 1, ..., wrapping at `num_items`. With `shuffle`, the
  // same items in an order that depends on seed and epoch. REQUIRES: first and
  // count are not negative, num_items > 0 unless count is 0.
  ItemOrder(int64_t first, int64_t count, int64_t num_items, bool shuffle,
            uint64_t seed, int64_t epoch)
      : first_(first), count_(count), modulus_(num_items) {
    if (!shuffle) return;
    shuffled_.resize(count);
    for (int64_t i = 0; i < count; ++i) shuffled_[i] = (first + i) % num_items;
    Shuffle(seed, epoch);
    first_ = 0;
    modulus_ = count;
  }

  // The first `count` items of a share; beyond the last item follow the first
  // of the epoch again. With `shuffle`, all items are shuffled before they are
  // shared. REQUIRES: as above.
  ItemOrder(const EpochShare& share, int64_t count, int64_t num_items,
            bool shuffle, uint64_t seed, int64_t epoch)
      : first_(share.start + share.rank),
        stride_(share.world),
        count_(count),
        modulus_(num_items) {
    if (!shuffle) return;
    shuffled_.resize(num_items);
    std::iota(shuffled_.begin(), shuffled_.end(), int64_t{0});
    Shuffle(seed, epoch);
  }

  // The same in the order of `item_at`: from places of the epoch, which has
  // `places` of them, to items.
  ItemOrder(const EpochShare& share, int64_t count, int64_t places,
            std::function<int64_t(int64_t)> item_at)
      : first_(share.start + share.rank),
        stride_(share.world),
        count_(count),
        modulus_(places),
        item_at_(std::move(item_at)) {}

  int64_t count() const { return count_; }
  // Ends after `count` items.
  void Cut(int64_t count) { count_ = std::min(count_, count); }
  int64_t Item(int64_t position) const {
    const int64_t place = (first_ + position * stride_) % modulus_;
    if (item_at_ != nullptr) return item_at_(place);
    return shuffled_.empty() ? place : shuffled_[place];
  }

 private:
  void Shuffle(uint64_t seed, int64_t epoch) {
    // Differs from the seed of every item.
    Random random(ItemSeed(~seed, epoch, -1));
    random.Shuffle(&shuffled_);
  }

  int64_t first_;
  int64_t stride_ = 1;
  int64_t count_;
  int64_t modulus_;
  std::vector<int64_t> shuffled_;
  std::function<int64_t(int64_t)> item_at_;
};

}  // namespace feedrate
