#include "lib/draw/svg.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/output_checks.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Svg Drawing() {
  Svg svg(120, 60, "a <title> & \"more\"");
  svg.BeginGroup("bar", "hover & <see>");
  svg.Rect(1, 2.5, 10.123, 4, "f0");
  svg.EndGroup();
  svg.Line(0, 0, 5, 5, "axis");
  svg.Circle(3, 3, 2, "f1");
  svg.Path(PathData().MoveTo(0, 0).LineTo(1, 1).Close().text(), "k0");
  svg.Text(5, 6, "x < y & 'z'", Svg::Anchor::kEnd, "t", -90);
  return svg;
}

TEST(SvgTest, FileIsAsBefore) {
  EXPECT_TRUE(
      MatchesGolden(Drawing().ToFile(), "lib/draw/testdata/svg.golden.svg"));
}

TEST(SvgTest, IsWellFormed) {
  EXPECT_TRUE(CheckXml(Drawing().ToFile()).ok())
      << CheckXml(Drawing().ToFile());
  EXPECT_TRUE(CheckXml(Drawing().ToInline()).ok());
}

TEST(SvgTest, FilesNeedNothingElseAndPagesBringTheirColors) {
  EXPECT_THAT(Drawing().ToFile(), Not(HasSubstr("var(")));
  EXPECT_THAT(Drawing().ToFile(), HasSubstr("#0072b2"));
  EXPECT_THAT(Drawing().ToInline(), Not(HasSubstr("<style>")));
}

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

TEST(TextWidthTest, FollowsTheLetters) {
  EXPECT_GT(TextWidth("WWW", 10), TextWidth("iii", 10));
  EXPECT_DOUBLE_EQ(TextWidth("aa", 20), 2 * TextWidth("aa", 10));
  EXPECT_DOUBLE_EQ(TextWidth("é", 10), TextWidth("×", 10));
}

TEST(TextToFitTest, CutsOnlyWhatIsTooWide) {
  EXPECT_EQ(TextToFit("Blur", 10, 100), "Blur");
  const std::string cut = TextToFit("RandomResizedCropWithALongName", 10, 80);
  EXPECT_LE(TextWidth(cut, 10), 80);
  EXPECT_EQ(cut.substr(0, 4), "Rand");
  EXPECT_EQ(cut.substr(cut.size() - 4), "Name");
  EXPECT_NE(cut.find("…"), std::string::npos);
}

TEST(TextToFitTest, LeavesNoHalfCharacter) {
  for (int width = 5; width < 60; width += 3) {
    const std::string cut = TextToFit("éééééééééé", 10, width);
    EXPECT_EQ((cut.size() - 3) % 2, 0u) << width;
  }
}

// Each step used to measure the whole text.
TEST(TextToFitTest, TakesNoTimeForALongName) {
  const std::string cut = TextToFit(std::string(1 << 22, 'x'), 10, 100);
  EXPECT_LT(cut.size(), 20u);
}

TEST(XmlCheckTest, AcceptsWhatIsWellFormed) {
  EXPECT_TRUE(CheckXml("<a/>").ok());
  EXPECT_TRUE(
      CheckXml("<?xml version=\"1.0\"?>\n<a b=\"1\"><c d=\"&lt;\">x &amp; "
               "y</c></a>\n")
          .ok());
}

TEST(XmlCheckTest, RefusesWhatIsNot) {
  for (const char* bad :
       {"", "text", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"1/>",
        "<a b=\"1\" b=\"2\"/>", "<a>x & y</a>", "<a b=\"<\"/>", "</a>",
        "<a><b></a></b>", "<a b=\"1\"c=\"2\"/>", "<a>x < y</a>"}) {
    EXPECT_FALSE(CheckXml(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace feedrate
