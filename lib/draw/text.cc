#include "lib/draw/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"

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
  // Round first: 9.996 with three digits is 10.0, not 10.00.
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

namespace {

constexpr size_t kGap = 2;

// Ranges of characters that terminals draw two columns wide.
bool IsWide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
         (c >= 0x20000 && c <= 0x3FFFD);
}

bool IsCombining(char32_t c) {
  return (c >= 0x0300 && c <= 0x036F) || (c >= 0x1AB0 && c <= 0x1AFF) ||
         (c >= 0x20D0 && c <= 0x20FF) || (c >= 0xFE00 && c <= 0xFE0F) ||
         c == 0x200D;
}

// Length of the escape sequence for colors and weights (ESC [ … m) at the start
// of `text`, or 0 if there is none.
size_t StyleLength(absl::string_view text) {
  if (text.size() < 3 || text[0] != '\x1B' || text[1] != '[') return 0;
  size_t at = 2;
  while (at < text.size() &&
         (absl::ascii_isdigit(text[at]) || text[at] == ';')) {
    ++at;
  }
  return at < text.size() && text[at] == 'm' ? at + 1 : 0;
}

std::string Padded(const std::string& cell, Align align, size_t width) {
  const size_t own = DisplayWidth(cell);
  const std::string pad(width > own ? width - own : 0, ' ');
  return align == Align::kLeft ? cell + pad : pad + cell;
}

std::string Line(const std::vector<std::string>& cells,
                 const std::vector<Align>& align,
                 const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    line += Padded(cells[i], align[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    absl::StrAppend(&line, " ", absl::StrReplaceAll(cell, {{"|", "\\|"}}),
                    " |");
  }
  return line + "\n";
}

}  // namespace

char32_t TakeUtf8Character(absl::string_view* text) {
  const unsigned char first = (*text)[0];
  const size_t length = first < 0xC2   ? 1
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 1;
  char32_t c = length == 1 ? first : first & (0xFF >> (length + 1));
  size_t used = 1;
  while (used < length && used < text->size() &&
         ((*text)[used] & 0xC0) == 0x80) {
    c = (c << 6) | ((*text)[used] & 0x3F);
    ++used;
  }
  text->remove_prefix(used);
  return c;
}

size_t DisplayWidth(absl::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const size_t style = StyleLength(text);
    if (style > 0) {
      text.remove_prefix(style);
      continue;
    }
    const char32_t c = TakeUtf8Character(&text);
    width += IsCombining(c) ? 0 : IsWide(c) ? 2 : 1;
  }
  return width;
}

Table::Table(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {
  CHECK_EQ(header_.size(), align_.size());
}

void Table::AddRow(std::vector<std::string> cells) {
  CHECK_EQ(cells.size(), header_.size());
  rows_.push_back(std::move(cells));
}

void Table::AddRule() { rows_.emplace_back(); }

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths;
  for (const std::string& cell : header_) widths.push_back(DisplayWidth(cell));
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  return widths;
}

std::string Table::ToText() const {
  const std::vector<size_t> widths = Widths();
  const size_t total =
      std::accumulate(widths.begin(), widths.end(), size_t{0}) +
      kGap * (widths.size() - 1);
  std::string rule;
  for (size_t i = 0; i < total; ++i) rule += "─";
  rule += "\n";
  std::string text = Line(header_, align_, widths) + rule;
  for (const std::vector<std::string>& row : rows_) {
    text += row.empty() ? rule : Line(row, align_, widths);
  }
  return text;
}

std::string Table::ToMarkdown() const {
  std::string text = MarkdownLine(header_);
  text += "|";
  for (Align align : align_) text += align == Align::kLeft ? "---|" : "---:|";
  text += "\n";
  for (const std::vector<std::string>& row : rows_) {
    if (!row.empty()) text += MarkdownLine(row);
  }
  return text;
}

namespace {

constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::vector<double> Joined(absl::Span<const double> values, size_t most) {
  if (values.size() <= most) return {values.begin(), values.end()};
  std::vector<double> joined;
  for (size_t i = 0; i < most; ++i) {
    const size_t from = i * values.size() / most;
    const size_t to = (i + 1) * values.size() / most;
    double sum = 0;
    for (size_t j = from; j < to; ++j) sum += values[j];
    joined.push_back(sum / static_cast<double>(to - from));
  }
  return joined;
}

}  // namespace

std::string Sparkline(absl::Span<const double> values, int most) {
  const std::vector<double> shown = Joined(values, std::max(1, most));
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : shown) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string line;
  for (const double value : shown) {
    if (!std::isfinite(value)) {
      line += " ";
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    line += kBlocks[std::min(7, static_cast<int>(share * 8))];
  }
  return line;
}

}  // namespace feedrate
