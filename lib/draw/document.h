// A report as sections of text, tables and figures, and its form as HTML and
// Markdown.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/variant.h"
#include "lib/draw/axes.h"
#include "lib/draw/svg.h"
#include "lib/draw/text.h"

namespace feedrate {

// Plain text. Text between back quotes is code.
struct Paragraph {
  std::string text;
  // Shown as a warning.
  bool is_warning = false;
};

// A headline number, such as "3" "machines".
struct KeyNumber {
  std::string value;
  std::string label;
};

struct KeyNumbers {
  std::vector<KeyNumber> numbers;
};

struct DocumentCell {
  DocumentCell() = default;
  DocumentCell(std::string cell_text)  // NOLINT: a text is a cell.
      : text(std::move(cell_text)) {}
  DocumentCell(const char* cell_text) : text(cell_text) {}  // NOLINT

  std::string text;
  // The column is sorted by this. Absent: by the text.
  absl::optional<double> value;
  // Small print below the text.
  std::string detail;
  // What a reader must know beside the number, in a line of its own.
  std::string remark;
  // Shown when the pointer is over the cell.
  std::string hover;
  // Where the text leads. Empty: nowhere. REQUIRES: it starts with http://,
  // https:// or #.
  std::string link;
  // A small line instead of the text, such as the history of a time; the text
  // is for readers without pictures. The page draws the line of a chosen row
  // large.
  struct Point {
    // An index into `point_names` of the table.
    int x = 0;
    double y = 0;
  };
  std::vector<Point> line;
  // Values of x at which the line changes its level.
  std::vector<int> marks;
  // The best cell of its row.
  bool is_best = false;
  // Not a result, such as unsupported or failed.
  bool is_muted = false;
};

// A cell without a value: says so, and is sorted last.
DocumentCell NotMeasured();

struct DocumentTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<Align> align;
  std::vector<std::vector<DocumentCell>> rows;
  // For cells with a line, in seconds: the names of the values of x, such as
  // commits, details such as dates (may be empty), and where a point leads,
  // with its name in place of `{commit}` (may be empty).
  std::vector<std::string> point_names;
  std::vector<std::string> point_details;
  std::string point_link;
  // On a narrow screen a row is a sentence. Otherwise columns that do not fit
  // are scrolled to.
  bool is_sentences = false;

  // Removes columns, other than the first, in which no cell has anything: all
  // are empty, not measured or the number 0.
  void DropEmptyColumns();
  // Moves columns, other than the first, in which all cells have the same text
  // and no value, to the caption. Leaves a table with fewer than two rows
  // alone.
  void FoldConstantColumns();
};

// A figure with its caption.
struct Figure {
  // Name of the file under --svg, and anchor in the page.
  std::string id;
  std::string caption;
  // Draws the figure with this width. Called again for narrow screens and for
  // logarithmic axes, because a figure that is only scaled down is not legible.
  std::function<Svg(ScaleType, double width)> draw;
  // Whether the page offers a logarithmic axis. If false, `draw` only gets
  // kLinear.
  bool has_log = false;
};

// Widths of figures in pages and files, and on phones.
inline constexpr double kWideFigure = 820;
inline constexpr double kNarrowFigure = 326;

// Verbatim text such as commands and configs. Collapsed if it has a `summary`.
struct CodeBlock {
  std::string summary;
  std::string text;
};

using Block =
    absl::variant<Paragraph, KeyNumbers, DocumentTable, Figure, CodeBlock>;

struct Section {
  // Unique in the document. Letters, digits and hyphens only.
  std::string id;
  std::string title;
  // 1 is a section, 2 a subsection of the section before it.
  int level = 1;
  std::vector<Block> blocks;
  // Whether the navigation lists it.
  bool in_contents = true;
};

struct Document {
  std::string title;
  // One line below the title.
  std::string subtitle;
  std::vector<Section> sections;
};

// The document as one HTML page, with style sheet and script inside; it loads
// nothing else. Without JavaScript everything can be read, and axes switch
// between linear and logarithmic. With JavaScript tables sort and filter, marks
// show details under the pointer, and the reader can choose light or dark (by
// default the system's choice).
std::string ToHtml(const Document& document);

// The document in GitHub's Markdown. Figures become image links to `<id>.svg`
// in `figures_folder`, or are left out if it is empty.
std::string ToMarkdown(const Document& document,
                       const std::string& figures_folder);

}  // namespace feedrate
