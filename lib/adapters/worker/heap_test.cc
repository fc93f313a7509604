#include "lib/adapters/worker/heap.h"

#include <malloc.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(HeapTest, LargeBlocksComeFromTheHeap) {
  SettleHeap();
  const size_t before = mallinfo2().hblks;
  // An RGB image of 1000 x 1000: a block of its own before.
  void* volatile image = std::malloc(3000000);
  EXPECT_EQ(mallinfo2().hblks, before);
  std::free(image);
}

}  // namespace
}  // namespace feedrate
