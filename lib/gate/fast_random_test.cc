#include "lib/gate/fast_random.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(FastRandomTest, TheSameEverywhere) {
  FastRandom a(7);
  FastRandom b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Bits(), b.Bits());
  EXPECT_NE(FastRandom(8).Bits(), FastRandom(7).Bits());
}

TEST(FastRandomTest, MomentsAreRight) {
  FastRandom random(1);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0, uniform = 0, exponential = 0;
  int heads = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    uniform += random.Uniform();
    exponential += random.Exponential();
    heads += random.Coin();
    EXPECT_LT(random.Below(3), 3);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(fourth / kCount, 3, 0.15);
  EXPECT_NEAR(uniform / kCount, 0.5, 0.005);
  EXPECT_NEAR(exponential / kCount, 1, 0.02);
  EXPECT_NEAR(heads, kCount / 2, 1500);
}

}  // namespace
}  // namespace feedrate
