// Takes arbitrary bytes as a history: the search must find a split as cheap as
// the slow one does, and steps must be what they promise.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "glog/logging.h"
#include "lib/stats/change_points.h"
#include "lib/stats/slow_split.h"

namespace feedrate {
namespace {

void Check(const std::vector<double>& values, size_t min_length, double noise) {
  LevelCost cost;
  cost.noise = noise;
  cost.min_length = min_length;
  const std::vector<size_t> places = SplitByLevel(values, cost);
  const double slow = SlowSplitCost(values, cost);
  const double fast = SplitCost(values, places, cost);
  CHECK_LE(std::abs(fast - slow), 1e-9 * (1 + slow)) << fast << " " << slow;

  ChangePointOptions options;
  options.min_length = min_length;
  const std::vector<Step> steps = FindSteps(values, options);
  size_t last = 0;
  for (const Step& step : steps) {
    CHECK_GE(step.index,
             last + (step.before + 1 == step.index ? min_length : 0));
    CHECK_LE(step.index + min_length, values.size());
    CHECK_LT(step.before, step.index);
    CHECK_GE(std::abs(step.shift), options.min_shift);
    CHECK_LE(step.p_value, options.max_p_value);
    CHECK(step.gone_at == 0 || step.gone_at > step.index);
    CHECK_LT(step.gone_at, values.size());
    last = step.index;
  }
}

}  // namespace
}  // namespace feedrate

// The first byte is the shortest stretch, the second the noise, then two bytes
// per value.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr size_t kMaxValues = 24;
  std::vector<double> values;
  for (size_t i = 2; i + 1 < size && values.size() < kMaxValues; i += 2) {
    const auto bits = static_cast<int16_t>(data[i] | data[i + 1] << 8);
    values.push_back(bits / 4096.0);
  }
  feedrate::Check(values, 2 + data[0] % 5, (1 + data[1]) / 256.0);
  return 0;
}
