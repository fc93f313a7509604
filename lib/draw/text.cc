#include "lib/draw/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "lib/base/text.h"

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

// Whether the plain form would be longer than anyone reads. REQUIRES: finite.
bool IsExtreme(double value) {
  const double size = std::abs(value);
  return size != 0 && (size < 1e-9 || size >= 1e15);
}

}  // namespace

std::string SignificantText(double value, int digits) {
  if (!std::isfinite(value)) return kNoNumber;
  if (value == 0) return "0";
  if (IsExtreme(value)) return absl::StrFormat("%.*e", digits - 1, value);
  // Round first: 9.996 with three digits is 10.0, not 10.00.
  double rounded = value;
  CHECK(absl::SimpleAtod(absl::StrFormat("%.*e", digits - 1, value), &rounded));
  const int exponent =
      static_cast<int>(std::floor(std::log10(std::abs(rounded))));
  const int decimals = std::max(0, digits - 1 - exponent);
  return Grouped(absl::StrFormat("%.*f", decimals, value));
}

std::string ShortNumberText(double value) {
  if (!std::isfinite(value)) return kNoNumber;
  const double size = std::abs(value);
  if (IsExtreme(value)) return absl::StrFormat("%.1e", value);
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
  const double percent = 100 * fraction;
  if (!std::isfinite(percent)) return kNoNumber;
  if (std::abs(percent) >= 1e15) return absl::StrFormat("%.1e%%", percent);
  return absl::StrFormat("%.1f%%", percent);
}

std::string CoordinateText(double value) {
  if (!std::isfinite(value)) return "0";
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

// Longer cells do not widen their column: one long name would pad every row.
constexpr size_t kWidestColumn = 200;

// Bold and green, and back to normal.
constexpr char kBest[] = "\x1B[1;32m";
constexpr char kPlain[] = "\x1B[0m";

// Removes the first character of `text` and returns its columns.
size_t TakeColumns(absl::string_view* text) {
  const char32_t c = TakeUtf8Character(text);
  return IsCombining(c) ? 0 : IsWide(c) ? 2 : 1;
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    absl::StrAppend(&line, " ", cell, " |");
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
  while (!text.empty()) width += TakeColumns(&text);
  return width;
}

std::string ToColumns(absl::string_view text, size_t columns) {
  absl::string_view rest = text;
  size_t kept = 0;
  for (size_t width = 0; !rest.empty(); kept = text.size() - rest.size()) {
    width += TakeColumns(&rest);
    if (width > columns) break;
  }
  return std::string(text.substr(0, kept));
}

std::string FirstWords(absl::string_view text, size_t columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  std::string start = ToColumns(text, columns > 0 ? columns - 1 : 0);
  // A word ends where a space follows or is the last that fits.
  if (start.size() < text.size() && text[start.size()] != ' ') {
    const size_t space = start.rfind(' ');
    if (space != std::string::npos && space > 0) start.resize(space);
  }
  while (!start.empty() && start.back() == ' ') start.pop_back();
  return start + "…";
}

std::vector<std::string> WrappedLines(absl::string_view text, size_t columns,
                                      absl::string_view indent) {
  if (DisplayWidth(text) <= columns) return {std::string(text)};
  std::vector<std::string> lines;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (lines.empty() ||
        DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > columns) {
      lines.push_back(absl::StrCat(lines.empty() ? "" : indent, word));
    } else {
      absl::StrAppend(&lines.back(), " ", word);
    }
  }
  return lines;
}

Table::Table(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {
  CHECK_EQ(header_.size(), align_.size());
}

void Table::AddRow(std::vector<std::string> cells, std::vector<bool> best) {
  CHECK_EQ(cells.size(), header_.size());
  best.resize(cells.size());
  rows_.push_back({std::move(cells), std::move(best)});
}

void Table::AddRule() { rows_.emplace_back(); }

std::string Table::Lines(const std::vector<std::string>& cells,
                         const std::vector<bool>& best,
                         const std::vector<size_t>& widths) const {
  std::vector<std::vector<std::string>> lines(1);
  for (size_t i = 0; i < cells.size(); ++i) {
    std::vector<std::string> parts = {cells[i]};
    if (align_[i] == Align::kLeft) parts = WrappedLines(cells[i], widths[i]);
    if (parts.size() > lines.size()) lines.resize(parts.size());
    for (size_t j = 0; j < parts.size(); ++j) {
      lines[j].resize(cells.size());
      // A word that was harmless inside a line may be a command at its start.
      lines[j][i] = PrintableText(parts[j]);
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    text += Line(line, best, widths);
  }
  return text;
}

std::string Table::Line(const std::vector<std::string>& cells,
                        const std::vector<bool>& best,
                        const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    const size_t own = DisplayWidth(cells[i]);
    const std::string pad(widths[i] > own ? widths[i] - own : 0, ' ');
    if (align_[i] == Align::kRight) line += pad;
    const bool bold = best[i] && !cells[i].empty();
    absl::StrAppend(&line, bold ? kBest : "", cells[i], bold ? kPlain : "");
    if (align_[i] == Align::kLeft) line += pad;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

void Table::Narrow(const std::vector<std::vector<std::string>>& rows,
                   std::vector<size_t>* widths) const {
  // No column gets narrower than its header and its longest word.
  std::vector<size_t> least;
  for (const std::string& name : header_) {
    least.push_back(DisplayWidth(PrintableText(name)));
  }
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      for (absl::string_view word : absl::StrSplit(row[i], ' ')) {
        least[i] = std::max(least[i], DisplayWidth(word));
      }
    }
  }
  size_t total = std::accumulate(widths->begin(), widths->end(),
                                 kGap * (widths->size() - 1));
  for (; total > kMaxColumns; --total) {
    // The first column, which names the row, is the last to get narrower.
    size_t widest = 0;
    for (size_t i = 1; i < widths->size(); ++i) {
      if (align_[i] == Align::kLeft && (*widths)[i] > least[i] &&
          (widest == 0 || (*widths)[i] > (*widths)[widest])) {
        widest = i;
      }
    }
    if (widest == 0 &&
        (align_[0] != Align::kLeft || (*widths)[0] <= least[0])) {
      return;
    }
    --(*widths)[widest];
  }
}

std::string Table::ToText(bool color) const {
  const auto escaped = [](std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = PrintableText(cell);
    return cells;
  };
  const std::vector<std::string> header = escaped(header_);
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : rows_) rows.push_back(escaped(row.cells));
  std::vector<size_t> widths(header.size());
  const auto widen = [&widths](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t width = std::min(kWidestColumn, DisplayWidth(cells[i]));
      widths[i] = std::max(widths[i], width);
    }
  };
  widen(header);
  for (const std::vector<std::string>& row : rows) widen(row);
  Narrow(rows, &widths);
  const size_t total =
      std::accumulate(widths.begin(), widths.end(), size_t{0}) +
      kGap * (widths.size() - 1);
  std::string rule;
  for (size_t i = 0; i < total; ++i) rule += "─";
  rule += "\n";
  const std::vector<bool> none(header.size());
  std::string text = Line(header, none, widths) + rule;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += rows[i].empty()
                ? rule
                : Lines(rows[i], color ? rows_[i].best : none, widths);
  }
  return text;
}

std::string Table::ToMarkdown(Cells kind) const {
  const auto shown = [kind](const std::string& cell) {
    return kind == Cells::kText ? MarkdownText(cell)
                                : absl::StrReplaceAll(cell, {{"|", "\\|"}});
  };
  std::vector<std::string> header;
  for (const std::string& cell : header_) header.push_back(shown(cell));
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : rows_) {
    if (row.cells.empty()) continue;
    std::vector<std::string>& cells = rows.emplace_back();
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const char* const mark = row.best[i] ? "**" : "";
      cells.push_back(absl::StrCat(mark, shown(row.cells[i]), mark));
    }
  }
  return MarkdownTable(header, align_, rows);
}

std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<Align>& align,
                          const std::vector<std::vector<std::string>>& rows) {
  std::string text = MarkdownLine(header);
  text += "|";
  for (Align one : align) text += one == Align::kLeft ? "---|" : "---:|";
  text += "\n";
  for (const std::vector<std::string>& row : rows) text += MarkdownLine(row);
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
    // Halves, because a difference may overflow.
    const double share =
        high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    line += kBlocks[std::min(7, static_cast<int>(share * 8))];
  }
  return line;
}

}  // namespace feedrate
