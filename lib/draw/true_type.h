// TrueType fonts, for drawing text as outlines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// A TrueType font (.ttf with quadratic outlines). Supports what plain text
// needs: the glyph of a character, its width, its outline, and composite glyphs
// of accented letters. No kerning, hinting or ligatures. Any bytes are safe to
// parse.
class TrueTypeFont {
 public:
  // InvalidArgument if `bytes` is not such a font.
  static absl::StatusOr<TrueTypeFont> Parse(std::string bytes);

  // Width of UTF-8 `text` at `size`, in the units of `size`.
  double Width(absl::string_view text, double size) const;

  // The outline of `text` as the `d` attribute of an SVG path, with the
  // baseline starting at (x, y). Characters that the font lacks, or whose
  // outline has thousands of points, are drawn as its missing-glyph box.
  std::string PathOf(absl::string_view text, double x, double y,
                     double size) const;

 private:
  struct Point {
    double x = 0;
    double y = 0;
    bool on_curve = false;
  };
  using Contour = std::vector<Point>;

  struct Table {
    uint32_t offset = 0;
    uint32_t length = 0;
  };

  TrueTypeFont() = default;
  absl::Status ReadTables();
  absl::Status ReadCharacterMap();

  uint32_t Glyph(char32_t character) const;
  uint32_t GlyphInFormat4(uint32_t map, char32_t character) const;
  uint32_t GlyphInFormat12(uint32_t map, char32_t character) const;
  double Advance(uint32_t glyph) const;
  Table Outline(uint32_t glyph) const;
  // What one character may still cost. Parts may be nested, and each may be
  // used several times: without a limit a small font is endless work.
  struct Budget {
    int parts;
    size_t points;
    bool is_spent = false;
  };

  // Returns no contour if the outline is broken or the budget is spent.
  std::vector<Contour> Contours(uint32_t glyph) const;
  std::vector<Contour> Contours(uint32_t glyph, int depth,
                                Budget* budget) const;
  std::vector<Contour> SimpleContours(const Table& place, int count,
                                      Budget* budget) const;
  std::vector<Contour> CompositeContours(const Table& place, int depth,
                                         Budget* budget) const;

  // Bytes beyond the end of the file read as 0.
  uint32_t U8(uint64_t at) const;
  uint32_t U16(uint64_t at) const { return U8(at) << 8 | U8(at + 1); }
  int32_t I16(uint64_t at) const { return static_cast<int16_t>(U16(at)); }
  uint32_t U32(uint64_t at) const { return U16(at) << 16 | U16(at + 2); }

  std::string bytes_;
  Table glyf_, loca_, hmtx_;
  uint32_t units_per_em_ = 1000;
  uint32_t num_glyphs_ = 0;
  uint32_t num_metrics_ = 0;
  bool long_offsets_ = false;
  uint32_t map_ = 0;
};

}  // namespace feedrate
