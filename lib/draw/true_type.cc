#include "lib/draw/true_type.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// Limits for one character. Real fonts have two levels, a few parts and a few
// hundred points.
constexpr int kMaxDepth = 6;
constexpr int kMaxParts = 64;
constexpr size_t kMaxPoints = 4000;

absl::Status NotAFont(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "not a TrueType font: ", what, "; take a .ttf such as DejaVuSans.ttf"));
}

std::string At(double x, double y) {
  return absl::StrCat(CoordinateText(x), " ", CoordinateText(y));
}

}  // namespace

uint32_t TrueTypeFont::U8(uint64_t at) const {
  return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0;
}

absl::StatusOr<TrueTypeFont> TrueTypeFont::Parse(std::string bytes) {
  TrueTypeFont font;
  font.bytes_ = std::move(bytes);
  RETURN_IF_ERROR(font.ReadTables());
  RETURN_IF_ERROR(font.ReadCharacterMap());
  return font;
}

absl::Status TrueTypeFont::ReadTables() {
  if (U32(0) != 0x00010000 && U32(0) != 0x74727565) {
    return NotAFont("wrong first bytes");
  }
  std::map<std::string, Table> tables;
  for (uint32_t i = 0; i < U16(4); ++i) {
    const uint64_t entry = 12 + 16ull * i;
    if (entry + 16 > bytes_.size()) return NotAFont("cut off");
    tables[bytes_.substr(entry, 4)] = {U32(entry + 8), U32(entry + 12)};
  }
  for (const char* name :
       {"head", "maxp", "hhea", "hmtx", "loca", "glyf", "cmap"}) {
    if (tables.count(name) == 0) {
      return NotAFont(absl::StrCat("it has no table `", name, "`"));
    }
  }
  units_per_em_ = U16(tables["head"].offset + 18ull);
  long_offsets_ = U16(tables["head"].offset + 50ull) != 0;
  num_glyphs_ = U16(tables["maxp"].offset + 4ull);
  num_metrics_ = U16(tables["hhea"].offset + 34ull);
  if (units_per_em_ == 0 || num_metrics_ == 0) return NotAFont("no measures");
  glyf_ = tables["glyf"];
  loca_ = tables["loca"];
  hmtx_ = tables["hmtx"];
  map_ = tables["cmap"].offset;
  return absl::OkStatus();
}

absl::Status TrueTypeFont::ReadCharacterMap() {
  const uint64_t cmap = map_;
  map_ = 0;
  for (uint32_t i = 0; i < U16(cmap + 2); ++i) {
    const uint64_t entry = cmap + 4 + 8ull * i;
    const uint32_t platform = U16(entry);
    const uint32_t place = static_cast<uint32_t>(cmap + U32(entry + 4));
    const uint32_t format = U16(place);
    if (platform != 0 && platform != 3) continue;
    if (format == 12) {
      map_ = place;
      return absl::OkStatus();
    }
    if (format == 4) map_ = place;
  }
  return map_ != 0 ? absl::OkStatus() : NotAFont("no Unicode map");
}

uint32_t TrueTypeFont::Glyph(char32_t character) const {
  return U16(map_) == 12 ? GlyphInFormat12(map_, character)
                         : GlyphInFormat4(map_, character);
}

uint32_t TrueTypeFont::GlyphInFormat4(uint32_t map, char32_t c) const {
  const uint32_t segments = U16(map + 6ull) / 2;
  const uint64_t ends = map + 14ull;
  const uint64_t starts = ends + 2ull * segments + 2;
  const uint64_t deltas = starts + 2ull * segments;
  const uint64_t offsets = deltas + 2ull * segments;
  for (uint32_t i = 0; i < segments; ++i) {
    if (c > U16(ends + 2ull * i)) continue;
    const uint32_t start = U16(starts + 2ull * i);
    if (c < start) return 0;
    const uint32_t delta = U16(deltas + 2ull * i);
    const uint64_t at = offsets + 2ull * i;
    if (U16(at) == 0) return (c + delta) & 0xFFFF;
    const uint32_t glyph = U16(at + U16(at) + 2ull * (c - start));
    return glyph == 0 ? 0 : (glyph + delta) & 0xFFFF;
  }
  return 0;
}

uint32_t TrueTypeFont::GlyphInFormat12(uint32_t map, char32_t c) const {
  // Real fonts have a few hundred groups.
  constexpr uint32_t kMostGroups = 20000;
  const uint32_t groups = std::min(U32(map + 12ull), kMostGroups);
  for (uint32_t i = 0; i < groups; ++i) {
    const uint64_t group = map + 16ull + 12ull * i;
    if (group >= bytes_.size()) return 0;
    if (c >= U32(group) && c <= U32(group + 4)) {
      return U32(group + 8) + (c - U32(group));
    }
  }
  return 0;
}

double TrueTypeFont::Advance(uint32_t glyph) const {
  const uint32_t entry = glyph < num_metrics_ ? glyph : num_metrics_ - 1;
  return U16(hmtx_.offset + 4ull * entry);
}

TrueTypeFont::Table TrueTypeFont::Outline(uint32_t glyph) const {
  if (glyph >= num_glyphs_) return {};
  const uint64_t at = loca_.offset + (long_offsets_ ? 4ull : 2ull) * glyph;
  const uint32_t start = long_offsets_ ? U32(at) : 2 * U16(at);
  const uint32_t end = long_offsets_ ? U32(at + 4) : 2 * U16(at + 2);
  if (end <= start || end > glyf_.length) return {};
  return {glyf_.offset + start, end - start};
}

std::vector<TrueTypeFont::Contour> TrueTypeFont::Contours(
    uint32_t glyph) const {
  for (const uint32_t shown : {glyph, uint32_t{0}}) {
    Budget budget{kMaxParts, kMaxPoints};
    std::vector<Contour> contours = Contours(shown, 0, &budget);
    if (!budget.is_spent) return contours;
  }
  return {};
}

std::vector<TrueTypeFont::Contour> TrueTypeFont::Contours(
    uint32_t glyph, int depth, Budget* budget) const {
  const Table place = Outline(glyph);
  if (place.length < 10) return {};
  if (depth > kMaxDepth || budget->parts == 0) budget->is_spent = true;
  if (budget->is_spent) return {};
  --budget->parts;
  const int count = I16(place.offset);
  return count >= 0 ? SimpleContours(place, count, budget)
                    : CompositeContours(place, depth, budget);
}

std::vector<TrueTypeFont::Contour> TrueTypeFont::SimpleContours(
    const Table& place, int count, Budget* budget) const {
  uint64_t at = place.offset + 10ull;
  std::vector<uint32_t> ends;
  for (int i = 0; i < count; ++i, at += 2) ends.push_back(U16(at));
  if (ends.empty()) return {};
  const uint32_t points = ends.back() + 1;
  if (points > budget->points) {
    budget->is_spent = true;
    return {};
  }
  budget->points -= points;
  at += 2 + U16(at);
  std::vector<uint32_t> flags;
  while (flags.size() < points && at < bytes_.size()) {
    const uint32_t flag = U8(at++);
    const uint32_t repeats = (flag & 8) != 0 ? U8(at++) : 0;
    flags.insert(flags.end(), repeats + 1, flag);
  }
  if (flags.size() < points) return {};
  Contour all(points);
  // Each is one byte with a sign flag, or two bytes, or absent when the value
  // repeats.
  const auto read = [&](uint32_t is_short, uint32_t same, double Point::*axis) {
    int32_t value = 0;
    for (uint32_t i = 0; i < points; ++i) {
      if ((flags[i] & is_short) != 0) {
        const int32_t step = static_cast<int32_t>(U8(at++));
        value += (flags[i] & same) != 0 ? step : -step;
      } else if ((flags[i] & same) == 0) {
        value += I16(at);
        at += 2;
      }
      all[i].*axis = value;
      all[i].on_curve = (flags[i] & 1) != 0;
    }
  };
  read(2, 16, &Point::x);
  read(4, 32, &Point::y);
  std::vector<Contour> contours;
  uint32_t start = 0;
  for (const uint32_t end : ends) {
    if (end < start || end >= points) return contours;
    contours.emplace_back(all.begin() + start, all.begin() + end + 1);
    start = end + 1;
  }
  return contours;
}

std::vector<TrueTypeFont::Contour> TrueTypeFont::CompositeContours(
    const Table& place, int depth, Budget* budget) const {
  std::vector<Contour> contours;
  uint64_t at = place.offset + 10ull;
  for (int part = 0; part < kMaxParts && !budget->is_spent; ++part) {
    const uint32_t flags = U16(at);
    const uint32_t glyph = U16(at + 2);
    at += 4;
    const bool words = (flags & 1) != 0;
    double dx = words ? I16(at) : static_cast<int8_t>(U8(at));
    double dy = words ? I16(at + 2) : static_cast<int8_t>(U8(at + 1));
    if ((flags & 2) == 0) dx = dy = 0;
    at += words ? 4 : 2;
    double xx = 1, xy = 0, yx = 0, yy = 1;
    const auto fraction = [&] {
      at += 2;
      return I16(at - 2) / 16384.0;
    };
    if ((flags & 0x08) != 0) {
      xx = yy = fraction();
    } else if ((flags & 0x40) != 0) {
      xx = fraction();
      yy = fraction();
    } else if ((flags & 0x80) != 0) {
      xx = fraction();
      xy = fraction();
      yx = fraction();
      yy = fraction();
    }
    for (Contour& contour : Contours(glyph, depth + 1, budget)) {
      for (Point& point : contour) {
        const double x = point.x;
        point.x = xx * x + yx * point.y + dx;
        point.y = xy * x + yy * point.y + dy;
      }
      contours.push_back(std::move(contour));
    }
    if ((flags & 0x20) == 0) break;
  }
  return contours;
}

double TrueTypeFont::Width(absl::string_view text, double size) const {
  double width = 0;
  while (!text.empty()) width += Advance(Glyph(TakeUtf8Character(&text)));
  return width * size / units_per_em_;
}

std::string TrueTypeFont::PathOf(absl::string_view text, double x, double y,
                                 double size) const {
  const double scale = size / units_per_em_;
  std::string path;
  while (!text.empty()) {
    const uint32_t glyph = Glyph(TakeUtf8Character(&text));
    const auto place = [&](const Point& point) {
      return At(x + scale * point.x, y - scale * point.y);
    };
    const auto middle = [](const Point& a, const Point& b) {
      return Point{(a.x + b.x) / 2, (a.y + b.y) / 2, true};
    };
    for (const Contour& contour : Contours(glyph)) {
      const size_t n = contour.size();
      if (n < 2) continue;
      // Starts on the curve, or halfway between two control points.
      const Point& first = contour[0];
      const Point start = first.on_curve ? first
                          : contour[n - 1].on_curve
                              ? contour[n - 1]
                              : middle(first, contour[n - 1]);
      absl::StrAppend(&path, "M", place(start));
      for (size_t i = first.on_curve ? 1 : 0; i < n; ++i) {
        const Point& point = contour[i];
        if (point.on_curve) {
          absl::StrAppend(&path, "L", place(point));
          continue;
        }
        const Point& next = i + 1 < n ? contour[i + 1] : start;
        const Point end = next.on_curve ? next : middle(point, next);
        absl::StrAppend(&path, "Q", place(point), " ", place(end));
        if (next.on_curve) ++i;
      }
      path += "Z";
    }
    x += scale * Advance(glyph);
  }
  return path;
}

}  // namespace feedrate
