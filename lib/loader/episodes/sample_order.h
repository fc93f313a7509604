// In which order a set of several data sets gives its samples: as functions of
// seed and position, so that a training can continue anywhere, at once, and
// without memory for an order of all samples.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace feedrate {

// A permutation of the numbers from 0 to size - 1 that depends on the seed:
// swap-or-not (Hoang, Morris and Rogaway 2012), whose every round exchanges
// each number with its partner or leaves both. REQUIRES: place < size.
int64_t ShuffledPlace(uint64_t seed, int64_t size, int64_t place);

// A sample of a data set, as its number among all that were drawn from it.
struct Draw {
  int dataset = 0;
  int64_t number = 0;
};

// Chooses the data set of each sample by weight, without end. Positions are
// divided into blocks of kMixBlock; of each, every data set has its share,
// rounded up or down, in an order of its own. Thread-safe.
class WeightedOrder {
 public:
  static constexpr int64_t kMixBlock = 4096;

  // REQUIRES: at least one weight, all above 0.
  WeightedOrder(const std::vector<double>& weights, uint64_t seed);

  Draw At(int64_t position) const;

 private:
  // The draws of kMixBlock samples in a row.
  struct Block {
    int64_t index = 0;
    std::vector<Draw> draws;
    // Samples of each data set before the block, and with it.
    std::vector<int64_t> before;
    std::vector<int64_t> after;
  };

  // First place of each data set among those of a block that is not shuffled,
  // and the end of the last.
  std::vector<int64_t> Bounds(int64_t block) const;
  std::shared_ptr<const Block> BlockAt(int64_t index) const;

  // Shares, summed up, from 0 to 1.
  std::vector<double> rising_;
  const uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::deque<std::shared_ptr<const Block>> recent_;
};

}  // namespace feedrate
