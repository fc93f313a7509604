#include "lib/loader/mixture/mixture_plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/loader/item_order.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/mix_order.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// Beside all data sets in what seeds are made of.
constexpr uint64_t kMixing = ~uint64_t{0};

}  // namespace

DatasetStreamOptions PlannedStream(const MixtureSpec& spec, uint64_t seed,
                                   size_t source) {
  DatasetStreamOptions options;
  options.order.read_interleave = spec.read_interleave;
  options.order.shuffle_buffer = spec.shuffle_buffer;
  options.order.seed = MixSeeds(seed, 2 * source);
  options.episode.samples = spec.samples_per_episode;
  options.episode.pair_offset = spec.pair_offset;
  options.seed = MixSeeds(seed, 2 * source + 1);
  return options;
}

MixOrder PlannedOrder(const std::vector<double>& weights,
                      const MixtureSpec& spec, uint64_t seed) {
  return {weights, spec.mix_block_length, spec.prime_each_dataset_samples,
          MixSeeds(seed, kMixing)};
}

}  // namespace feedrate
