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
  EXPECT_THAT(table, HasSubstr("elementwise (FLOP not in total)"));
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

double Total(const std::string& mixer, int64_t length) {
  MixerShape shape;
  shape.length = length;
  return TotalOf(*CountMixer(mixer, shape)).forward_flops;
}

// Cost ratio for twice the length.
double Growth(const std::string& mixer, int64_t length) {
  return Total(mixer, 2 * length) / Total(mixer, length);
}

TEST(MixerFlopsTest, AttentionIsThatOfTheModel) {
  MixerShape shape;
  shape.length = 201;
  const std::vector<FlopsPart> parts = *CountMixer("attention", shape);
  EXPECT_EQ(12 * parts[0].forward_flops, 2845310976);
  EXPECT_EQ(12 * parts[1].forward_flops, 744671232);
}

TEST(MixerFlopsTest, AttentionBecomesQuadraticTheOthersDoNot) {
  EXPECT_GT(Growth("attention", 1 << 18), 3.9);
  EXPECT_LT(Growth("hyena", 1 << 18), 2.1);
  EXPECT_LT(Growth("ckconv", 1 << 18), 2.1);
  EXPECT_GT(Growth("hyena", 1 << 18), 2);
}

TEST(MixerFlopsTest, AttentionIsCheaperThanHyenaOnlyWhileShort) {
  EXPECT_LT(Total("attention", 128), Total("hyena", 128));
  EXPECT_GT(Total("attention", 65536), 10 * Total("hyena", 65536));
}

TEST(MixerFlopsTest, LongConvolutionIsThreeTransformsAndAProduct) {
  MixerShape shape;
  shape.length = 1024;
  shape.width = 1;
  const FlopsPart part = (*CountMixer("ckconv", shape))[0];
  EXPECT_EQ(part.name, "long_convolution");
  EXPECT_EQ(part.forward_flops, 3 * (5 * 2048 * 11) / 2 + 6 * 1025);
}

TEST(MixerFlopsTest, UnknownMixer) {
  EXPECT_EQ(CountMixer("heyna", MixerShape()).status().message(),
            "mixer \"heyna\" is unknown; did you mean \"hyena\"?");
}

}  // namespace
}  // namespace feedrate
