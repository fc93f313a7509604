// Whose file it is: that of the CPU, which decodes the part that a window
// needs, or an engine's, which decodes all of it. Needs no GPU.
#ifndef FEEDRATE_LIB_LOADER_CUDA_DECODE_COST_H_
#define FEEDRATE_LIB_LOADER_CUDA_DECODE_COST_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "lib/adapters/cuda/fused_op.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// What the CPU has to do for an item, against what an engine has to: where both
// decode, the CPU does best with the least of them. Thread-safe.
class DecodeCost {
 public:
  // Both outlive it.
  DecodeCost(const std::vector<SourceFile>& files, const GpuRecipe& recipe);

  // Whoever opens a file for the first time tells; until then it is taken for a
  // photograph of a usual size.
  bool Knows(int64_t item) const;
  void Learn(int64_t item, FusedSize size, bool engine_decodes);

  // Of the window that `item` has with this seed; 0: an engine cannot.
  double Of(int64_t item, uint64_t seed) const;

 private:
  struct Known {
    FusedSize size;
    bool engine_decodes = true;
  };
  Known KnownOf(int64_t item) const;

  const std::vector<SourceFile>& files_;
  const GpuRecipe& recipe_;
  // Height, width and whether an engine decodes it, in one word; 0: unknown.
  std::vector<std::atomic<uint64_t>> known_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_DECODE_COST_H_
