#include "lib/analysis/report/expression.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::vector<Row> Rows() {
  std::vector<Row> rows = {
      MakeRow("a", "Blur", 100, 0), MakeRow("a", "Blur", 120, 1),
      MakeRow("a", "Blur", 110, 2), MakeRow("b", "Blur", 55),
      MakeRow("a", "Flip", 800),    MakeRow("b", "Flip", 100),
      MakeRow("a", "Only", 7)};
  rows.push_back(MakeRow("b", "Only", 999));
  rows.back().set_status("failed");
  return rows;
}

double ValueOf(const std::string& expression) {
  const auto value = Evaluate(expression, Rows());
  EXPECT_TRUE(value.ok()) << expression << ": " << value.status();
  return value.value_or(-12345);
}

TEST(ExpressionTest, TakesStatisticsOverRows) {
  EXPECT_DOUBLE_EQ(
      ValueOf("median(throughput, library==\"a\", transform==\"Blur\")"), 110);
  EXPECT_DOUBLE_EQ(ValueOf("max(throughput)"), 800);
  EXPECT_DOUBLE_EQ(ValueOf("min(throughput)"), 7);
  EXPECT_DOUBLE_EQ(ValueOf("sum(throughput, transform == \"Flip\")"), 900);
  EXPECT_DOUBLE_EQ(ValueOf("mean(throughput, transform == \"Flip\")"), 450);
  EXPECT_DOUBLE_EQ(ValueOf("distinct(transform)"), 3);
}

TEST(ExpressionTest, CountsOnlyRowsThatAreOkUnlessToldOtherwise) {
  EXPECT_DOUBLE_EQ(ValueOf("count()"), 7);
  EXPECT_DOUBLE_EQ(ValueOf("count(status == \"failed\")"), 1);
  EXPECT_DOUBLE_EQ(ValueOf("count(status != \"\")"), 8);
  EXPECT_DOUBLE_EQ(ValueOf("share(library == \"b\")"), 100.0 * 2 / 7);
}

TEST(ExpressionTest, RatiosPairCellsAndTakeTheGeometricMean) {
  EXPECT_DOUBLE_EQ(ValueOf("ratio(throughput, library==\"a\", library==\"b\", "
                           "transform==\"Blur\")"),
                   2);
  // 2 and 8, and `Only` has no partner.
  EXPECT_NEAR(ValueOf("ratio(throughput, library==\"a\", library==\"b\")"), 4,
              1e-12);
  EXPECT_NEAR(ValueOf("percent(throughput, library==\"a\", library==\"b\")"),
              300, 1e-9);
}

TEST(ExpressionTest, NeverPairsDifferentMachines) {
  std::vector<Row> rows = {MakeRow("a", "Blur", 100), MakeRow("b", "Blur", 50)};
  rows[1].set_machine_profile("other");
  EXPECT_TRUE(absl::IsNotFound(
      Evaluate("ratio(throughput, library==\"a\", library==\"b\")", rows)
          .status()));
}

TEST(ExpressionTest, PairsAlongASetting) {
  std::vector<Row> rows = {MakeRow("a", "", 300), MakeRow("a", "", 100)};
  (*rows[0].mutable_settings())["precision"] = "amp";
  (*rows[1].mutable_settings())["precision"] = "fp32";
  const auto value = Evaluate(
      "ratio(throughput, settings.precision==\"amp\", "
      "settings.precision==\"fp32\")",
      rows);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_DOUBLE_EQ(*value, 3);
}

TEST(ExpressionTest, ComputesModelUtilisation) {
  EXPECT_DOUBLE_EQ(
      ValueOf("mfu(2e9, 1e12, transform==\"Flip\", library==\"b\")"), 20);
}

TEST(ExpressionTest, Calculates) {
  EXPECT_DOUBLE_EQ(ValueOf("2 + 3 * (4 - 1) / -2 "), -2.5);
  EXPECT_DOUBLE_EQ(ValueOf("1e3-1"), 999);
  EXPECT_DOUBLE_EQ(ValueOf("count() / 2"), 3.5);
}

TEST(ExpressionTest, NamesWhatIsWrong) {
  for (const char* bad :
       {"", "1 +", "(1", "nosuch(1)", "median()", "count(", "1 1", "2..3",
        "median(throughput, )", "median(throughput, library=)", "median",
        "mfu(a, b)", "ratio(throughput, library==\"a\")"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Evaluate(bad, Rows()).status()))
        << bad << ": " << Evaluate(bad, Rows()).status();
  }
  EXPECT_THAT(std::string(Evaluate("1 + nosuch()", Rows()).status().message()),
              HasSubstr("column 5"));
}

TEST(ExpressionTest, SaysWhenRowsHaveNothing) {
  for (const char* empty :
       {"median(throughput, library==\"z\")", "median(train.mfu)",
        "median(of_limit)", "1 / count(library==\"z\")"}) {
    EXPECT_TRUE(absl::IsNotFound(Evaluate(empty, Rows()).status()))
        << empty << ": " << Evaluate(empty, Rows()).status();
  }
}

TEST(ExpressionTest, EndlessBracketsAreAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      Evaluate(std::string(100000, '('), Rows()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Evaluate(std::string(100000, '-'), Rows()).status()));
}

}  // namespace
}  // namespace feedrate
