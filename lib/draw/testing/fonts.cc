#include "lib/draw/testing/fonts.h"

#include <utility>

namespace feedrate {

std::string FontWords(const std::vector<int>& words) {
  std::string bytes;
  for (const int word : words) {
    bytes += static_cast<char>(word >> 8 & 0xFF);
    bytes += static_cast<char>(word & 0xFF);
  }
  return bytes;
}

std::string FontWord32(uint32_t value) {
  return FontWords({static_cast<int>(value >> 16), static_cast<int>(value)});
}

std::string TriangleGlyph() {
  std::string glyph = FontWords({1, 0, 0, 500, 700, /*end=*/2, /*program=*/0});
  glyph += std::string("\x01\x01\x01", 3);  // On the curve, two-byte steps.
  glyph += FontWords({0, 500, -250, 0, 0, 700});
  return glyph + std::string(1, '\0');
}

std::string FontOf(const std::vector<std::string>& glyphs) {
  const int count = static_cast<int>(glyphs.size());
  std::vector<std::pair<std::string, std::string>> tables;
  // Format 4 with one segment from 'A' on, and the last one that it must have.
  tables.emplace_back(
      "cmap", FontWords({0, 1, 3, 1}) + FontWord32(12) +
                  FontWords({4, 32, 0, 4, 0, 0, 0, 'A' + count - 2, 0xFFFF, 0,
                             'A', 0xFFFF, 1 - 'A', 1, 0, 0}));
  std::string glyf;
  std::string loca = FontWord32(0);
  std::string hmtx;
  for (int i = 0; i < count; ++i) {
    glyf += glyphs[i];
    loca += FontWord32(static_cast<uint32_t>(glyf.size()));
    hmtx += FontWords({i == 0 ? 400 : i == 1 ? 600 : 350, 0});
  }
  tables.emplace_back("glyf", glyf);
  std::string head(54, '\0');
  head.replace(18, 2, FontWords({1000}));
  head.replace(50, 2, FontWords({1}));  // Offsets of four bytes.
  tables.emplace_back("head", head);
  std::string hhea(36, '\0');
  hhea.replace(34, 2, FontWords({count}));
  tables.emplace_back("hhea", hhea);
  tables.emplace_back("hmtx", hmtx);
  tables.emplace_back("loca", loca);
  tables.emplace_back("maxp", FontWords({1, 0, count}));
  std::string bytes = FontWord32(0x00010000) +
                      FontWords({static_cast<int>(tables.size()), 0, 0, 0});
  uint32_t offset = 12 + 16 * static_cast<uint32_t>(tables.size());
  std::string body;
  for (const auto& table : tables) {
    bytes += table.first + FontWord32(0) + FontWord32(offset) +
             FontWord32(static_cast<uint32_t>(table.second.size()));
    body += table.second;
    offset += static_cast<uint32_t>(table.second.size());
  }
  return bytes + body;
}

}  // namespace feedrate
