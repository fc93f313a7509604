// The kernels on a GPU. The tests of the headers check their arithmetic without
// one.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "lib/ops/cuda/bench/samples.h"

namespace feedrate::fused {
namespace {

TEST(FusedTest, KernelsDoWhatTheHostDoes) {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(found);
  }
  EXPECT_EQ(RunChecks(/*seed=*/1), 0);
  EXPECT_EQ(RunChecks(/*seed=*/2), 0);
}

}  // namespace
}  // namespace feedrate::fused
