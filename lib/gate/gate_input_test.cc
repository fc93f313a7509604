#include "lib/gate/gate_input.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

class GateInputTest : public testing::Test {
 protected:
  absl::StatusOr<GateInput> Parse(const std::string& text) {
    return ParseGateInput(
        text, "in", RunStatistic::kTypical,
        [this](const std::string& line) { warnings_.push_back(line); });
  }
  std::vector<std::string> warnings_;
};

TEST_F(GateInputTest, KnowsRowsFromMetrics) {
  const auto rows = Parse(
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\"}\n"
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\",\"pair\":{\"index\":0,"
      "\"side\":\"a\"}}\n"
      "{\"schema\":1,\"record\":\"verdict\",\"scope\":\"job\"}\n"
      "{\"schema\":1,\"record\":\"verdict\",\"scope\":\"suite\"}\n");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->rows.size(), 1);
  EXPECT_EQ(rows->paired_rows, 1);
  EXPECT_EQ(rows->verdicts.size(), 1);
  EXPECT_FALSE(rows->metrics.has_value());
  const auto metrics =
      Parse("{\n  \"machine_profile\": \"m\",\n \"x\": 1\n}\n");
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  ASSERT_TRUE(metrics->metrics.has_value());
  EXPECT_EQ(metrics->metrics->metrics.at("x"), 1);
}

TEST_F(GateInputTest, EmptyIsEmptyAndRubbishIsRefused) {
  ASSERT_TRUE(Parse("").ok());
  EXPECT_TRUE(Parse("")->rows.empty());
  EXPECT_FALSE(Parse("hello\nworld\n").ok());
  EXPECT_FALSE(Parse("{\"machine_profile\": \"m\",").ok());
  EXPECT_FALSE(Parse("[1]\n[2]\n").ok());
}

TEST_F(GateInputTest, ATornLineIsToldAndPassedOver) {
  const auto rows = Parse(
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\"}\n{\"schema\":1,"
      "\"rec");
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->rows.size(), 1);
  EXPECT_EQ(warnings_.size(), 1);
}

}  // namespace
}  // namespace feedrate
