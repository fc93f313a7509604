#include "lib/gate/tolerances.h"

#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

Tolerances Parsed(const std::string& text) {
  const absl::StatusOr<Tolerances> tolerances = ParseTolerances(text, "f");
  EXPECT_TRUE(tolerances.ok()) << tolerances.status();
  return *tolerances;
}

TEST(TolerancesTest, TheDefaultsAreRight) {
  const auto defaults = LoadTolerances("configs/gate/tolerances.textproto");
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  const auto* t = ToleranceFor(*defaults, "tokens_per_sec_p50", "", "", false);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->percent(), 5);
  EXPECT_EQ(ToleranceFor(*defaults, "step_time_p90", "", "", false), nullptr);
  EXPECT_NE(ToleranceFor(*defaults, "step_time_p90", "", "", true), nullptr);
  EXPECT_EQ(ToleranceFor(*defaults, "loss_slope", "", "", false)->max_value(),
            0.001);
  EXPECT_EQ(ToleranceFor(*defaults, "seed", "", "", true), nullptr);
}

TEST(TolerancesTest, TheLastThatMatchesCounts) {
  const Tolerances t = Parsed(R"(
      tolerances { metric: "throughput" better: HIGHER percent: 5 }
      tolerances { metric: "through*" jobs: "opencv *" better: HIGHER percent: 9 }
      tolerances { metric: "throughput" jobs: "0123" off: true })");
  EXPECT_EQ(ToleranceFor(t, "throughput", "ff", "kornia A", false)->percent(),
            5);
  EXPECT_EQ(ToleranceFor(t, "throughput", "ff", "opencv A", false)->percent(),
            9);
  EXPECT_EQ(ToleranceFor(t, "throughput", "0123456789abcdef", "x", false),
            nullptr);
}

struct BadCase {
  const char* text;
  const char* message;
};

class BadTolerancesTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadTolerancesTest, IsRefusedWithThePlace) {
  const auto result = ParseTolerances(GetParam().text, "f");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find(GetParam().message),
            std::string::npos)
      << result.status();
  EXPECT_EQ(result.status().message().substr(0, 2), "f:") << result.status();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTolerancesTest,
    testing::Values(
        BadCase{"", "no tolerance"},
        BadCase{"tolerances { }", "`metric` is missing"},
        BadCase{"tolerances { metric: \"x\" }", "has 0 limits"},
        BadCase{"tolerances { metric: \"x\" better: LOWER percent: 1 "
                "absolute: 1 }",
                "has 2 limits"},
        BadCase{"tolerances { metric: \"x\" percent: 1 }", "`better`"},
        BadCase{"tolerances { metric: \"x\" better: LOWER percent: -1 }",
                "from 0 upwards"},
        BadCase{"tolerances { metric: \"x\" better: LOWER absolute: inf }",
                "from 0 upwards"},
        BadCase{"tolerances { metric: \"x\" max_value: nan }", "not finite"},
        BadCase{"tolerances { metric: \"x\" off: true max_value: 1 }",
                "without a limit"},
        BadCase{"tolerances { metrik: \"x\" }", "metric"}));

}  // namespace
}  // namespace feedrate
