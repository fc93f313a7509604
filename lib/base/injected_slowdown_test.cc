#include "lib/base/injected_slowdown.h"

#include <chrono>
#include <cstdlib>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(InjectedSlowdownTest, ReadsTheEnvironment) {
  unsetenv(kSlowdownVariable);
  EXPECT_FALSE(InjectedSlowdown().is_active());
  setenv(kSlowdownVariable, "3.5", 1);
  EXPECT_DOUBLE_EQ(InjectedSlowdown().percent(), 3.5);
  for (const char* odd : {"", "x", "-1", "nan", "inf"}) {
    setenv(kSlowdownVariable, odd, 1);
    EXPECT_FALSE(InjectedSlowdown().is_active()) << odd;
  }
  unsetenv(kSlowdownVariable);
}

TEST(InjectedSlowdownTest, BurnsAtLeastItsShare) {
  const auto start = std::chrono::steady_clock::now();
  InjectedSlowdown(50).Burn(0.02);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  EXPECT_GE(took.count(), 0.01);
}

}  // namespace
}  // namespace feedrate
