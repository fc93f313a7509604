// main for tests that use libtorch.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/adapters/torch/blas.h"

int main(int argc, char** argv) {
  // Tests run in parallel: threads that wait for each other would only spin, on
  // a busy machine for many minutes. OpenMP reads this before main.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    setenv("OMP_NUM_THREADS", "1", /*overwrite=*/1);
    execv("/proc/self/exe", argv);
  }
  feedrate::AvoidHiddenSve(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
