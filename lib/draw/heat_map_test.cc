#include "lib/draw/heat_map.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

HeatMap Example() {
  HeatMap map;
  map.title = "Share";
  map.low_text = "slow";
  map.high_text = "fast";
  map.columns = {"one", "two"};
  map.rows = {"Blur", "Flip"};
  map.cells = {{{1.0, "500", "best"}, {0.25, "80", ""}},
               {{0.0, "1", ""}, {absl::nullopt, "–", "unsupported"}}};
  return map;
}

TEST(HeatMapTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawHeatMap(Example()).ToFile(),
                            "lib/draw/testdata/heat_map.golden.svg"));
}

TEST(HeatMapTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    HeatMap sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawHeatMap(sized).ToFile()).ok()) << width;
  }
}

TEST(HeatMapTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawHeatMap(HeatMap()).ToFile()).ok());
}

TEST(HeatMapTest, TheBestIsBright) {
  EXPECT_THAT(DrawHeatMap(Example()).ToFile(), HasSubstr("#fee838"));
}

}  // namespace
}  // namespace feedrate
