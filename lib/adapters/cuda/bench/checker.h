// What the checks of kernels share: inputs, and how far off a result may be.
// For this folder alone.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKER_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKER_H_

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lib/adapters/cuda/bench/samples.h"

namespace feedrate::fused {

// Rounding may fall on the other side of a half, so a few bytes may differ by
// one. `value` is what a byte's step is in the output's own units.
struct Tolerance {
  float value = 1;
  double fraction = 0.01;  // That may differ by more than a hundredth of it,
  float rounding = 0;      // and more than the output's own rounding.
};

// Of planes: a twentieth of a byte's step, and nothing above.
inline constexpr float kPlaneTolerance = 0.05f / 255;

class Checker {
 public:
  explicit Checker(unsigned seed) : random_(seed) {}

  int failed() const { return failed_; }

  void Bytes();
  void Planes();
  void Recipes();

 private:
  void Compare(const std::string& name, const std::vector<float>& expected,
               const std::vector<float>& actual, Tolerance tolerance);
  // One operation on a crooked batch of bytes; `host` gives image i.
  void ByteOp(const std::string& name,
              const std::function<cudaError_t(const ByteBatch&,
                                              const ByteBatch&)>& launch,
              const std::function<HostImage(const HostImage&, int)>& host,
              Tolerance tolerance, const std::vector<ImageSize>& out_sizes);
  // The same bytes by either path.
  void BothBlurs(const std::string& name,
                 const std::function<cudaError_t(
                     const ByteBatch&, const ByteBatch&, BlurPath)>& launch);
  void PlaneOp(
      const std::string& name, ImageSize to,
      const std::function<cudaError_t(const fused::Planes&, float*)>& launch,
      const std::function<HostImage(const HostImage&, int)>& host,
      float tolerance = kPlaneTolerance);
  std::vector<Recipe> RandomRecipes(Sampling sampling, bool thirds, bool mixes,
                                    ImageSize to);
  void RecipeOp(const std::string& name, RecipeBatch batch, ImageSize to);

  std::mt19937 random_;
  int failed_ = 0;
  std::vector<ImageSize> sizes_ = {{256, 256}, {37, 53},   {300, 411},
                                   {131, 64},  {375, 500}, {240, 227}};
};

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKER_H_
