#include "lib/draw/palette.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PaletteTest, EverySeriesHasItsOwnColorInBothThemes) {
  for (Theme theme : {Theme::kLight, Theme::kDark}) {
    const std::string variables = ColorVariables(theme);
    for (int i = 0; i < kSeriesColors; ++i) {
      const std::string color = WithColors(absl::StrCat("$s", i), theme);
      ASSERT_EQ(color.size(), 7u) << color;
      const size_t at = variables.find(color);
      ASSERT_NE(at, std::string::npos);
      EXPECT_EQ(variables.find(color, at + 1), std::string::npos) << color;
    }
  }
}

TEST(PaletteTest, CssRefersToColorsOrVariables) {
  EXPECT_EQ(WithColors("fill:$ink", Theme::kLight), "fill:#1b1f24");
  EXPECT_EQ(WithVariables("fill:$s0"), "fill:var(--s0)");
}

TEST(PaletteTest, HeatRunsFromDarkToLightWithLegibleInk) {
  EXPECT_EQ(HeatColorOf(0).fill, "#00224e");
  EXPECT_EQ(HeatColorOf(0).ink, "#ffffff");
  EXPECT_EQ(HeatColorOf(1).fill, "#fee838");
  EXPECT_EQ(HeatColorOf(1).ink, "#111111");
  EXPECT_EQ(HeatColorOf(7).fill, HeatColorOf(1).fill);
  EXPECT_EQ(HeatColorOf(-7).fill, HeatColorOf(0).fill);
}

}  // namespace
}  // namespace feedrate
