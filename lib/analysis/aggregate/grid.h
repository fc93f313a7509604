// A table with caption and notes, and its forms: text, Markdown, CSV and LaTeX.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace feedrate {

// The header of a last column that may move below the table.
inline constexpr char kNotesColumn[] = "notes";

struct GridCell {
  std::string text;
  // The data show that it is the fastest.
  bool best = false;
  bool right_aligned = false;
};

inline GridCell LeftCell(std::string text) { return {std::move(text)}; }

// The content of a table, independent of the output format.
struct Grid {
  // Lines above the table: what the numbers are, and what all rows share.
  std::vector<std::string> caption;
  // What the best cells have been shown to be. Ends the first line of the
  // caption. Empty if a column says it.
  std::string best_means;
  std::vector<GridCell> header;
  // Number of columns on the left that name the row.
  size_t key_columns = 0;
  std::vector<std::vector<GridCell>> rows;
  // What marks on numbers mean: footnotes below the table.
  std::vector<std::string> footnotes;
  // Sentences shown below the table.
  std::vector<std::string> notes;
};

// For a terminal, 120 columns wide at most: notes that do not fit stand below,
// and columns that do not fit form further tables. With `color`, the best cells
// are bold and green, else marked with ^ if `best_means` is set.
std::string RenderTable(const Grid& grid, bool color);
// The best cells are bold.
std::string RenderMarkdown(const Grid& grid);
// RFC 4180 with a header line and without notes.
std::string RenderCsv(const Grid& grid);
// A `table` with caption, booktabs rules and footnotes. Notes become comments
// above it.
std::string RenderLatex(const Grid& grid);
}  // namespace feedrate
