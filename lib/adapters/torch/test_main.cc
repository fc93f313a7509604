// main for tests that use libtorch.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/adapters/torch/blas.h"

int main(int argc, char** argv) {
  // Tests run in parallel: threads that wait for each other would only spin.
  setenv("OMP_NUM_THREADS", "1", /*overwrite=*/0);
  feedrate::AvoidHiddenSve(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
