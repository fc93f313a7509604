// What nvcc compiled links into a C++ program, runs, and reports as it should.

#include "third_party/cuda/smoke.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace {

TEST(CudaSmokeTest, DoublesOnGpu) {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  std::vector<float> values = {1, 2, 3};
  const std::string error = feedrate::DoubleOnGpu(&values);
  if (found != cudaSuccess || devices == 0) {
    EXPECT_NE(error, "") << "no device, yet no error";
    GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(found);
  }
  EXPECT_EQ(error, "");
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6}));
}

}  // namespace
