#include "lib/draw/number_text.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

constexpr char kNoNumber[] = "–";

std::string WithoutTrailingZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Grouped(std::string text) {
  const size_t start = text[0] == '-' ? 1 : 0;
  const size_t point = std::min(text.find('.'), text.size());
  for (size_t i = point; i > start + 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

}  // namespace

std::string SignificantText(double value, int digits) {
  if (!std::isfinite(value)) return kNoNumber;
  if (value == 0) return "0";
  // Rounding first: 9.996 with three digits is 10.0, not 10.00.
  const double rounded = std::stod(absl::StrFormat("%.*e", digits - 1, value));
  const int exponent =
      static_cast<int>(std::floor(std::log10(std::abs(rounded))));
  const int decimals = std::max(0, digits - 1 - exponent);
  return Grouped(absl::StrFormat("%.*f", decimals, value));
}

std::string ShortNumberText(double value) {
  if (!std::isfinite(value)) return kNoNumber;
  const double size = std::abs(value);
  struct Unit {
    double factor;
    const char* name;
  };
  for (const Unit& unit : {Unit{1e9, "G"}, Unit{1e6, "M"}, Unit{1e3, "k"}}) {
    if (size >= unit.factor) {
      return absl::StrCat(
          WithoutTrailingZeros(absl::StrFormat(
              "%.*f", size >= 100 * unit.factor ? 0 : 1, value / unit.factor)),
          unit.name);
    }
  }
  if (size == 0) return "0";
  const int decimals =
      std::max(0, 1 - static_cast<int>(std::floor(std::log10(size))));
  return WithoutTrailingZeros(
      absl::StrFormat("%.*f", std::min(decimals, 9), value));
}

std::string BytesText(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (std::abs(bytes) >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(SignificantText(bytes), " ", units[unit]);
}

std::string PercentText(double fraction) {
  if (!std::isfinite(fraction)) return kNoNumber;
  return absl::StrFormat("%.1f%%", 100 * fraction);
}

std::string CoordinateText(double value) {
  const std::string text = WithoutTrailingZeros(absl::StrFormat("%.2f", value));
  return text == "-0" ? "0" : text;
}

}  // namespace feedrate
