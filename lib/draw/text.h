// Text output for people: numbers, tables, sparklines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace feedrate {

// `value` with `digits` significant digits, with all integer digits kept and
// grouped in threes: 12,345  123  1.20  0.0123. In exponent form only below
// 1e-9 and from 1e15 on. Infinite and undefined values are `–`.
std::string SignificantText(double value, int digits = 3);

// For small spaces such as axes: 950, 1.2k, 35k, 2M; 0.05.
std::string ShortNumberText(double value);

// 1536 -> "1.50 KiB".
std::string BytesText(double bytes);

// 0.0421 -> "4.2%".
std::string PercentText(double fraction);

// For machine-readable files: at most two decimals, no trailing zeros. Infinite
// and undefined values are 0, which every reader accepts.
std::string CoordinateText(double value);

// Removes the first character of `text` and returns it. Invalid UTF-8 is safe.
// REQUIRES: `text` is not empty.
char32_t TakeUtf8Character(absl::string_view* text);

// Number of terminal columns that `text` takes: one per character, two for East
// Asian wide characters, none for combining marks. Invalid UTF-8 bytes count
// one each.
size_t DisplayWidth(absl::string_view text);

// The start of `text` that fits into `columns`.
std::string ToColumns(absl::string_view text, size_t columns);

// `text` if it fits into `columns`, else its first words and `…`: never a part
// of a word, unless the first alone is too long.
std::string FirstWords(absl::string_view text, size_t columns);

// The width that printed tables keep to.
inline constexpr size_t kMaxColumns = 120;

// Breaks `text` at spaces into lines of at most `columns`. A longer word has a
// line of its own. All lines but the first start with `indent`.
std::vector<std::string> WrappedLines(absl::string_view text, size_t columns,
                                      absl::string_view indent = "");

// A table of text with aligned columns, filled row by row and printed once.
// Escapes its cells, which may hold foreign text.
//
//   Table table({"library", "jobs"}, {Align::kLeft, Align::kRight});
//   table.AddRow({"kornia", "52"});
//   std::cout << table.ToText();
enum class Align { kLeft, kRight };

class Table {
 public:
  // `header` may have empty cells. `align` has one entry per column.
  Table(std::vector<std::string> header, std::vector<Align> align);

  // `best` marks the cells to show in bold. It may be empty.
  // REQUIRES: as many cells as the header.
  void AddRow(std::vector<std::string> cells, std::vector<bool> best = {});
  // Draws a line across the table before the next row.
  void AddRule();

  bool empty() const { return rows_.empty(); }

  // Columns are two spaces apart, with a line under the header and without
  // trailing spaces. The best cells are marked only with `color`. A table wider
  // than kMaxColumns wraps its left-aligned texts at spaces.
  std::string ToText(bool color = false) const;
  // The same as a Markdown table, without the lines of AddRule. kMarkdown: the
  // cells are Markdown of ours, such as code and links.
  enum class Cells { kText, kMarkdown };
  std::string ToMarkdown(Cells kind = Cells::kText) const;

 private:
  struct Row {
    std::vector<std::string> cells;  // None: a line across the table.
    std::vector<bool> best;
  };

  // Narrows columns on the left until the table has kMaxColumns.
  void Narrow(const std::vector<std::vector<std::string>>& rows,
              std::vector<size_t>* widths) const;
  // One row, in as many lines as its cells need.
  std::string Lines(const std::vector<std::string>& cells,
                    const std::vector<bool>& best,
                    const std::vector<size_t>& widths) const;
  std::string Line(const std::vector<std::string>& cells,
                   const std::vector<bool>& best,
                   const std::vector<size_t>& widths) const;

  std::vector<std::string> header_;
  std::vector<Align> align_;
  std::vector<Row> rows_;
};

// A table in GitHub's Markdown. The cells are Markdown already.
std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<Align>& align,
                          const std::vector<std::vector<std::string>>& rows);

// One block character per value, in eight heights from the lowest to the
// highest, such as ▁▃▅█. Equal values get the middle height. NaN and infinite
// values are spaces. More than `most` values are averaged down to that many.
std::string Sparkline(absl::Span<const double> values, int most = 30);

}  // namespace feedrate
