#include "lib/loader/cuda/decode_cost.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "lib/adapters/cuda/fused_op.h"
#include "lib/adapters/cuda/recipe_batch.h"
#include "lib/adapters/worker/params.h"
#include "lib/loader/cuda/gpu_recipe.h"

namespace feedrate {
namespace {

constexpr FusedSize kUsual = {375, 500};
constexpr uint64_t kEngine = uint64_t{1} << 62;
constexpr uint64_t kSide = (uint64_t{1} << 31) - 1;

}  // namespace

DecodeCost::DecodeCost(const std::vector<SourceFile>& files,
                       const GpuRecipe& recipe)
    : files_(files), recipe_(recipe), known_(files.size()) {}

bool DecodeCost::Knows(int64_t item) const {
  return known_[item].load(std::memory_order_relaxed) != 0;
}

void DecodeCost::Learn(int64_t item, FusedSize size, bool engine_decodes) {
  known_[item].store(static_cast<uint64_t>(size.height) << 31 |
                         static_cast<uint64_t>(size.width) |
                         (engine_decodes ? kEngine : 0),
                     std::memory_order_relaxed);
}

DecodeCost::Known DecodeCost::KnownOf(int64_t item) const {
  const uint64_t word = known_[item].load(std::memory_order_relaxed);
  if (word == 0) return {kUsual, true};
  return {
      {static_cast<int>(word >> 31 & kSide), static_cast<int>(word & kSide)},
      (word & kEngine) != 0};
}

double DecodeCost::Of(int64_t item, uint64_t seed) const {
  const Known known = KnownOf(item);
  if (!known.engine_decodes) return 0;
  const auto [height, width] = known.size;
  Random random = ItemRandom(seed, item);
  const fused::Window window = recipe_.Draw(known.size, &random).window;
  const int bottom = std::min(window.top + window.height, height);
  const int rows = bottom - std::max(window.top, 0);
  const int columns =
      std::min(window.left + window.width, width) - std::max(window.left, 0);
  // The CPU reads codes down to the window's last row and makes pixels of the
  // window: a byte of the file and a pixel take it about as long. An engine
  // makes pixels of all.
  const double bytes =
      static_cast<double>(files_[item].bytes) * bottom / height;
  return (bytes + static_cast<double>(rows) * columns) /
         (static_cast<double>(height) * width);
}

}  // namespace feedrate
