#include "lib/model/flops_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FlopsOptions Options(std::vector<std::string> models,
                     std::vector<int64_t> lengths = {}) {
  FlopsOptions options;
  options.models = std::move(models);
  options.lengths = std::move(lengths);
  return options;
}

TEST(FlopsReportTest, TotalIsLastOfEachModel) {
  const std::vector<Flops> records =
      *FlopsRecords(Options({"vit5_small", "hyena"}, {64, 32, 64}));
  std::vector<std::string> totals;
  for (const Flops& record : records) {
    if (record.part() == "total") {
      totals.push_back(record.model() + std::to_string(record.tokens()));
    }
  }
  EXPECT_THAT(totals,
              testing::ElementsAre("vit5_small201", "hyena32", "hyena64"));
  EXPECT_EQ(records.back().part(), "total");
}

TEST(FlopsReportTest, TableHasTheKnownFigures) {
  const std::string table =
      FlopsTable(*FlopsRecords(Options({"vit5_small"})), false);
  for (const char* figure :
       {"0.116", "2.85", "0.745", "5.69", "9.40", "28.2"}) {
    EXPECT_THAT(table, HasSubstr(figure));
  }
  EXPECT_THAT(table, HasSubstr("elementwise (not in total)"));
}

TEST(FlopsReportTest, MarkdownHasNoRules) {
  const std::vector<Flops> records = *FlopsRecords(Options({"vit5_tiny"}));
  EXPECT_THAT(FlopsTable(records, true), HasSubstr("| part"));
}

TEST(FlopsReportTest, FigureHasALineForEachMixer) {
  const std::string figure = *FlopsFigure(
      *FlopsRecords(Options({"attention", "hyena", "ckconv"}, {128, 4096})));
  for (const char* name : {"attention", "hyena", "ckconv", "4096 tokens"}) {
    EXPECT_THAT(figure, HasSubstr(name));
  }
  EXPECT_THAT(figure, Not(HasSubstr("nan")));
}

TEST(FlopsReportTest, FigureNeedsTwoLengths) {
  EXPECT_FALSE(FlopsFigure(*FlopsRecords(Options({"hyena"}, {128}))).ok());
  EXPECT_FALSE(FlopsFigure(*FlopsRecords(Options({"vit5_tiny"}))).ok());
}

TEST(FlopsReportTest, MistakesAreNamed) {
  EXPECT_THAT(FlopsRecords(Options({"vit"})).status().message(),
              HasSubstr("--model: \"vit\""));
  EXPECT_THAT(FlopsRecords(Options({"hyena"}, {0})).status().message(),
              HasSubstr("--lengths: 0"));
}

}  // namespace
}  // namespace feedrate
