#include "lib/draw/text_width.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace feedrate {
namespace {

constexpr double kAllowance = 1.12;

// Share of the size that one byte takes; later bytes of a character none.
double WidthOf(unsigned char c) {
  if ((c & 0xC0) == 0x80) return 0;
  if (c >= 0x80) return 0.6;
  if (absl::string_view("ijl|!.,:;'").find(c) != absl::string_view::npos) {
    return 0.25;
  }
  if (absl::string_view(" ftrI()[]/-").find(c) != absl::string_view::npos) {
    return 0.31;
  }
  if (c == 'm' || c == 'M' || c == 'W' || c == '%' || c == '@') return 0.86;
  if (c == 'w' || (c >= 'A' && c <= 'Z')) return 0.7;
  return 0.556;
}

}  // namespace

double TextWidth(absl::string_view text, double size) {
  double width = 0;
  for (const char c : text) width += WidthOf(static_cast<unsigned char>(c));
  return width * size * kAllowance;
}

std::string TextToFit(absl::string_view text, double size, double width) {
  if (TextWidth(text, size) <= width) return std::string(text);
  // Both ends tell names apart: "Gauss…workers=4".
  size_t head = text.size() / 2;
  size_t tail = head;
  const auto fits = [&] {
    return TextWidth(text.substr(0, head), size) + size +
               TextWidth(text.substr(tail), size) <=
           width;
  };
  const auto is_inside = [&](size_t place) {
    return place < text.size() && (text[place] & 0xC0) == 0x80;
  };
  while ((head > 0 || tail < text.size()) && (!fits() || is_inside(head))) {
    if (head > 0) --head;
    if (fits() && !is_inside(head)) break;
    if (tail < text.size()) ++tail;
  }
  while (is_inside(head)) --head;
  while (is_inside(tail)) ++tail;
  return absl::StrCat(text.substr(0, head), "…", text.substr(tail));
}

}  // namespace feedrate
