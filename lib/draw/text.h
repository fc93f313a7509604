// Text output for people: numbers, tables, sparklines.
#ifndef FEEDRATE_LIB_DRAW_TEXT_H_
#define FEEDRATE_LIB_DRAW_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace feedrate {

// `value` with `digits` significant digits, never in exponent form, with all
// integer digits kept and grouped in threes: 12,345  123  1.20  0.0123.
// Infinite and undefined values are `–`.
std::string SignificantText(double value, int digits = 3);

// For small spaces such as axes: 950, 1.2k, 35k, 2M; 0.05.
std::string ShortNumberText(double value);

// 1536 -> "1.50 KiB".
std::string BytesText(double bytes);

// 0.0421 -> "4.2%".
std::string PercentText(double fraction);

// For machine-readable files: at most two decimals, no trailing zeros.
std::string CoordinateText(double value);

// Removes the first character of `text` and returns it. Invalid UTF-8 is safe.
// REQUIRES: `text` is not empty.
char32_t TakeUtf8Character(absl::string_view* text);

// Number of terminal columns that `text` takes: one per character, two for East
// Asian wide characters, none for combining marks and for escape sequences of
// colors and weights. Invalid UTF-8 bytes count one each.
size_t DisplayWidth(absl::string_view text);

// A table of text with aligned columns, filled row by row and printed once.
//
//   Table table({"library", "jobs"}, {Align::kLeft, Align::kRight});
//   table.AddRow({"kornia", "52"});
//   std::cout << table.ToText();
enum class Align { kLeft, kRight };

class Table {
 public:
  // `header` may have empty cells. `align` has one entry per column.
  Table(std::vector<std::string> header, std::vector<Align> align);

  // REQUIRES: as many cells as the header.
  void AddRow(std::vector<std::string> cells);
  // Draws a line across the table before the next row.
  void AddRule();

  bool empty() const { return rows_.empty(); }

  // Puts two spaces between columns and a line under the header. No trailing
  // spaces.
  std::string ToText() const;
  // The same as a Markdown table, without the lines of AddRule.
  std::string ToMarkdown() const;

 private:
  std::vector<size_t> Widths() const;

  std::vector<std::string> header_;
  std::vector<Align> align_;
  // An empty row stands for a line.
  std::vector<std::vector<std::string>> rows_;
};

// One block character per value, in eight heights from the lowest to the
// highest, such as ▁▃▅█. Equal values get the middle height. NaN and infinite
// values are spaces. More than `most` values are averaged down to that many.
std::string Sparkline(absl::Span<const double> values, int most = 30);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_TEXT_H_
