#include "lib/measure/chunk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace feedrate {
namespace {

// Nothing is faster than a call of an empty function.
constexpr double kShortestCall = 1e-9;

}  // namespace

ChunkChoice ChooseChunk(const ChunkPolicy& policy, double per_call_s,
                        double clock_pair_s, int64_t num_items) {
  ChunkChoice choice;
  choice.count = num_items;
  if (policy.fixed > 0) {
    choice.chunk = policy.fixed;
    const int64_t wanted = policy.fixed * policy.min_samples;
    choice.count = (wanted + num_items - 1) / num_items * num_items;
    choice.count = std::max(choice.count, num_items);
    return choice;
  }
  if (per_call_s >= policy.chunk_below_s) return choice;
  const double call_s = std::max(per_call_s - clock_pair_s, kShortestCall);
  choice.chunk = std::max<int64_t>(
      1, static_cast<int64_t>(
             std::ceil(clock_pair_s / (policy.max_clock_share * call_s))));
  const int64_t passes = (choice.chunk + num_items - 1) / num_items;
  choice.count = std::max<int64_t>(passes, 1) * num_items;
  return choice;
}

}  // namespace feedrate
