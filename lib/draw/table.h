// Tables for people: aligned columns of text.
#ifndef FEEDRATE_LIB_DRAW_TABLE_H_
#define FEEDRATE_LIB_DRAW_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// Columns a text takes on a terminal: one a character; combining marks none,
// East Asian wide characters two; sequences that switch colours and weights
// none. Bytes that are no UTF-8 count one each.
size_t DisplayWidth(absl::string_view text);

// A table that is filled row by row and printed once.
//
//   Table table({"library", "jobs"}, {Align::kLeft, Align::kRight});
//   table.AddRow({"kornia", "52"});
//   std::cout << table.ToText();
enum class Align { kLeft, kRight };

class Table {
 public:
  // `header` may have empty cells; `align` has an entry for each column.
  Table(std::vector<std::string> header, std::vector<Align> align);

  // REQUIRES: as many cells as the header has.
  void AddRow(std::vector<std::string> cells);
  // A rule across the table before the next row.
  void AddRule();

  bool empty() const { return rows_.empty(); }

  // Two spaces between columns, a rule under the header, no trailing spaces.
  std::string ToText() const;
  // The same as a Markdown table; rules are left out.
  std::string ToMarkdown() const;

 private:
  std::vector<size_t> Widths() const;

  std::vector<std::string> header_;
  std::vector<Align> align_;
  // An empty row stands for a rule.
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_TABLE_H_
