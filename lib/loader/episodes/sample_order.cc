#include "lib/loader/episodes/sample_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/ops/epoch_order.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

// Workers are a few batches apart.
constexpr size_t kRecentBlocks = 8;

// Numbers below `size` are nearly uniform: sizes are far below 2^64.
int64_t Below(uint64_t random, int64_t size) {
  return static_cast<int64_t>(
      (static_cast<unsigned __int128>(random) * static_cast<uint64_t>(size)) >>
      64);
}

}  // namespace

int64_t ShuffledPlace(uint64_t seed, int64_t size, int64_t place) {
  // Six rounds per bit mix well; small sets get some more.
  int rounds = 24;
  for (int64_t left = size; left > 1; left /= 2) rounds += 6;
  Random keys(seed);
  for (int i = 0; i < rounds; ++i) {
    const int64_t key = Below(keys.Next(), size);
    const uint64_t coins = keys.Next();
    const int64_t partner = key >= place ? key - place : key + size - place;
    const auto pair = static_cast<uint64_t>(std::max(place, partner));
    if ((Random(coins ^ pair).Next() >> 63) != 0) place = partner;
  }
  return place;
}

WeightedOrder::WeightedOrder(const std::vector<double>& weights, uint64_t seed)
    : seed_(seed) {
  double total = 0;
  for (const double weight : weights) total += weight;
  double sum = 0;
  rising_.push_back(0);
  for (const double weight : weights) {
    sum += weight;
    rising_.push_back(sum / total);
  }
  // Whatever rounding did.
  rising_.back() = 1;
}

std::vector<int64_t> WeightedOrder::Bounds(int64_t block) const {
  // Systematic sampling: one draw moves the places of all data sets.
  const double shift =
      Random(MixSeeds(seed_, 2 * static_cast<uint64_t>(block))).Unit();
  std::vector<int64_t> bounds;
  bounds.reserve(rising_.size());
  for (const double share : rising_) {
    const double place = share * static_cast<double>(kMixBlock) - shift;
    bounds.push_back(std::clamp<int64_t>(static_cast<int64_t>(std::ceil(place)),
                                         0, kMixBlock));
  }
  bounds.back() = kMixBlock;
  return bounds;
}

std::shared_ptr<const WeightedOrder::Block> WeightedOrder::BlockAt(
    int64_t index) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Block* nearest = nullptr;
  for (const auto& block : recent_) {
    if (block->index == index) return block;
    if (block->index < index &&
        (nearest == nullptr || block->index > nearest->index)) {
      nearest = block.get();
    }
  }
  const size_t datasets = rising_.size() - 1;
  auto block = std::make_shared<Block>();
  block->index = index;
  block->before.assign(datasets, 0);
  int64_t from = 0;
  if (nearest != nullptr) {
    block->before = nearest->after;
    from = nearest->index + 1;
  }
  for (; from < index; ++from) {
    const std::vector<int64_t> bounds = Bounds(from);
    for (size_t i = 0; i < datasets; ++i) {
      block->before[i] += bounds[i + 1] - bounds[i];
    }
  }
  std::vector<int> order;
  const std::vector<int64_t> bounds = Bounds(index);
  for (size_t i = 0; i < datasets; ++i) {
    order.insert(order.end(), bounds[i + 1] - bounds[i], static_cast<int>(i));
  }
  Random(MixSeeds(seed_, 2 * static_cast<uint64_t>(index) + 1)).Shuffle(&order);
  block->after = block->before;
  for (const int dataset : order) {
    block->draws.push_back({dataset, block->after[dataset]++});
  }
  recent_.push_back(block);
  if (recent_.size() > kRecentBlocks) recent_.pop_front();
  return block;
}

Draw WeightedOrder::At(int64_t position) const {
  return BlockAt(position / kMixBlock)->draws[position % kMixBlock];
}

}  // namespace feedrate
