#include "lib/draw/svg.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/fonts.h"
#include "lib/draw/testing/output_checks.h"
#include "lib/draw/true_type.h"

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

// Glyph 1 is a triangle; glyph 2 is glyph 1 moved by (100, 0) at half size.
std::string Font() {
  return FontOf(
      {"", TriangleGlyph(),
       FontWords({-1, 0, 0, 0, 0, 0x0001 | 0x0002 | 0x0008, 1, 100, 0, 8192})});
}

// A glyph that draws the glyph `of` `times` times.
std::string Repeated(int of, int times) {
  std::string glyph = FontWords({-1, 0, 0, 0, 0});
  for (int i = 1; i <= times; ++i) {
    glyph += FontWords({0x0001 | (i < times ? 0x20 : 0), of, 0, 0});
  }
  return glyph;
}

TEST(TrueTypeTest, MeasuresAndDrawsText) {
  const auto font = TrueTypeFont::Parse(Font());
  ASSERT_TRUE(font.ok()) << font.status();
  EXPECT_DOUBLE_EQ(font->Width("A", 10), 6);
  EXPECT_DOUBLE_EQ(font->Width("AB?", 10), 6 + 3.5 + 4);
  EXPECT_EQ(font->PathOf("A", 0, 0, 10), "M0 0L5 0L2.5 -7Z");
  EXPECT_EQ(font->PathOf("AA", 1, 2, 10), "M1 2L6 2L3.5 -5ZM7 2L12 2L9.5 -5Z");
}

TEST(TrueTypeTest, PutsPartsTogether) {
  const auto font = TrueTypeFont::Parse(Font());
  ASSERT_TRUE(font.ok()) << font.status();
  EXPECT_EQ(font->PathOf("B", 0, 0, 10), "M1 0L3.5 0L2.25 -3.5Z");
}

// Six levels of 60 parts each are 47 billion triangles in 4 KB.
TEST(TrueTypeTest, DrawsABoxForWhatIsEndlessWork) {
  std::vector<std::string> glyphs = {TriangleGlyph()};
  for (int i = 2; i <= 7; ++i) glyphs.push_back(Repeated(i, 60));
  glyphs.push_back(TriangleGlyph());
  const auto font = TrueTypeFont::Parse(FontOf(glyphs));
  ASSERT_TRUE(font.ok()) << font.status();
  const std::string box = font->PathOf("?", 0, 0, 10);
  EXPECT_EQ(box, "M0 0L5 0L2.5 -7Z");
  EXPECT_EQ(font->PathOf("A", 0, 0, 10), box);
  EXPECT_EQ(font->PathOf("G", 0, 0, 10), box) << "the triangle itself";
}

// A flag that repeats makes thousands of equal points in a few bytes.
TEST(TrueTypeTest, DrawsABoxForThousandsOfPoints) {
  std::string many = FontWords({1, 0, 0, 0, 0, /*end=*/9999, /*program=*/0});
  for (int i = 0; i < 40; ++i) many += "\x39\xFF";
  const auto font =
      TrueTypeFont::Parse(FontOf({TriangleGlyph(), many, Repeated(1, 3)}));
  ASSERT_TRUE(font.ok()) << font.status();
  EXPECT_EQ(font->PathOf("A", 0, 0, 10), "M0 0L5 0L2.5 -7Z");
  EXPECT_EQ(font->PathOf("B", 0, 0, 10), "M0 0L5 0L2.5 -7Z");
}

TEST(TrueTypeTest, FiguresHaveNoTextLeft) {
  const auto font = TrueTypeFont::Parse(Font());
  ASSERT_TRUE(font.ok());
  Svg svg(50, 50, "figure");
  svg.Text(10, 10, "AB", Svg::Anchor::kEnd, "t", -90);
  const std::string file = svg.ToFile(&*font);
  EXPECT_TRUE(CheckXml(file).ok());
  EXPECT_EQ(file.find("<text"), std::string::npos);
  EXPECT_NE(file.find("class=\"glyphs t\""), std::string::npos);
}

TEST(TrueTypeTest, RefusesOtherFiles) {
  EXPECT_FALSE(TrueTypeFont::Parse("").ok());
  EXPECT_FALSE(TrueTypeFont::Parse("OTTO, which has cubic outlines").ok());
  EXPECT_FALSE(TrueTypeFont::Parse(Font().substr(0, 40)).ok());
}

// Fonts are untrusted input; no bytes may crash the program.
TEST(TrueTypeTest, SurvivesBrokenFonts) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = Font();
    for (int j = 0; j < 4; ++j) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(bytes.size() - random() % 3);
    const auto font = TrueTypeFont::Parse(bytes);
    if (font.ok()) {
      EXPECT_LT(font->PathOf("ABz\xC3", 0, 0, 10).size(), 5000000u);
    }
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
