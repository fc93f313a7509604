#include "lib/analysis/big_array.h"

#include <cstdint>
#include <utility>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(BigArrayTest, IsZeroedAndWritableToItsEnds) {
  for (const size_t size : {1u, 511u, 4097u, 262144u, 262145u, 1000003u}) {
    const BigArray<uint64_t> array(size);
    ASSERT_EQ(array.size(), size);
    EXPECT_EQ(array[0], 0u);
    EXPECT_EQ(array[size - 1], 0u);
    for (size_t i = 0; i < size; ++i) array[i] = ~i;
    EXPECT_EQ(array[size / 2], ~(size / 2));
  }
}

TEST(BigArrayTest, LargeOnesAreAlignedForHugePages) {
  const BigArray<char> array(5 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % (2 << 20), 0u);
}

TEST(BigArrayTest, EmptyHasNoMemory) {
  const BigArray<int> none;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(BigArray<int>(0).data(), nullptr);
}

TEST(BigArrayTest, MovesItsMemory) {
  BigArray<int> one(10);
  one[3] = 7;
  int* const data = one.data();
  const BigArray<int> other = std::move(one);
  EXPECT_EQ(other.data(), data);
  EXPECT_EQ(other[3], 7);
}

}  // namespace
}  // namespace feedrate
