#include "lib/draw/true_type.h"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/draw/svg.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

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

// Glyph 2: glyph 1 moved by (100, 0) at half size.
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

// Bytes of a font come from anywhere; none may crash the program.
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

}  // namespace
}  // namespace feedrate
