#include "lib/draw/svg.h"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

TEST(EscapeXmlTest, LeavesNothingThatXmlForbids) {
  EXPECT_EQ(EscapeXml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(EscapeXml(absl::string_view("\x01\t\x00", 3)),
            "\xEF\xBF\xBD\t\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("×…é"), "×…é");
}

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

std::string Words(const std::vector<int>& words) {
  std::string bytes;
  for (const int word : words) {
    bytes += static_cast<char>(word >> 8 & 0xFF);
    bytes += static_cast<char>(word & 0xFF);
  }
  return bytes;
}

std::string Word32(uint32_t value) {
  return Words({static_cast<int>(value >> 16), static_cast<int>(value)});
}

// A triangle (0,0) (500,0) (250,700), as glyph 1.
std::string Triangle() {
  std::string glyph = Words({1, 0, 0, 500, 700, /*end=*/2, /*program=*/0});
  glyph += std::string("\x01\x01\x01", 3);  // On the curve, two-byte steps.
  glyph += Words({0, 500, -250, 0, 0, 700});
  return glyph + std::string(1, '\0');
}

// Glyph 2 is glyph 1 moved by (100, 0) at half size.
std::string Composite() {
  return Words({-1, 0, 0, 0, 0, 0x0001 | 0x0002 | 0x0008, 1, 100, 0, 8192});
}

std::string Font() {
  const std::string one = Triangle();
  const std::string two = Composite();
  std::vector<std::pair<std::string, std::string>> tables;
  // Format 4: 'A' is glyph 1, 'B' glyph 2.
  tables.emplace_back("cmap", Words({0, 1, 3, 1}) + Word32(12) +
                                  Words({4, 32, 0, 4, 0, 0, 0, 'B', 0xFFFF, 0,
                                         'A', 0xFFFF, 1 - 'A', 1, 0, 0}));
  tables.emplace_back("glyf", one + two);
  std::string head(54, '\0');
  head.replace(18, 2, Words({1000}));
  tables.emplace_back("head", head);
  std::string hhea(36, '\0');
  hhea.replace(34, 2, Words({3}));
  tables.emplace_back("hhea", hhea);
  tables.emplace_back("hmtx", Words({400, 0, 600, 0, 350, 0}));
  const int first = static_cast<int>(one.size() / 2);
  const int second = first + static_cast<int>(two.size() / 2);
  tables.emplace_back("loca", Words({0, 0, first, second}));
  tables.emplace_back("maxp", Words({1, 0, 3}));
  std::string bytes =
      Word32(0x00010000) + Words({static_cast<int>(tables.size()), 0, 0, 0});
  uint32_t offset = 12 + 16 * static_cast<uint32_t>(tables.size());
  std::string body;
  for (const auto& table : tables) {
    bytes += table.first + Word32(0) + Word32(offset) +
             Word32(static_cast<uint32_t>(table.second.size()));
    body += table.second;
    offset += static_cast<uint32_t>(table.second.size());
  }
  return bytes + body;
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
