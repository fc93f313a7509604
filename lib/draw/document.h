// A report before it is HTML or Markdown: sections of text, tables, figures.
#ifndef FEEDRATE_LIB_DRAW_DOCUMENT_H_
#define FEEDRATE_LIB_DRAW_DOCUMENT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/variant.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"
#include "lib/draw/table.h"

namespace feedrate {

// Plain text. Words between two ` are code.
struct Paragraph {
  std::string text;
  // True: the reader must not miss it.
  bool is_warning = false;
};

// A number to see first, such as "3" "machines".
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
  // What the column is sorted by. Absent: by the text.
  absl::optional<double> value;
  // Under the text, small.
  std::string detail;
  // Shown over it.
  std::string hover;
  // The best of its row.
  bool is_best = false;
  // Not a result: unsupported, failed.
  bool is_muted = false;
};

struct DocumentTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<Align> align;
  std::vector<std::vector<DocumentCell>> rows;
};

// A figure with its caption.
struct Figure {
  // Name of the file under --svg, and of the place in the page.
  std::string id;
  std::string caption;
  // Draws it so wide. Drawn anew for narrow screens and for logarithmic axes,
  // because a picture that is only scaled down cannot be read.
  std::function<Svg(ScaleType, double width)> draw;
  // False: there is no other scale to switch to, and `draw` gets kLinear.
  bool has_log = false;
};

// Widths that figures are drawn at for pages and files, and for telephones.
inline constexpr double kWideFigure = 820;
inline constexpr double kNarrowFigure = 326;

// Text as it is, such as commands and configs. With a `summary` it is folded.
struct CodeBlock {
  std::string summary;
  std::string text;
};

using Block =
    absl::variant<Paragraph, KeyNumbers, DocumentTable, Figure, CodeBlock>;

struct Section {
  // Unique in the document; letters, digits and hyphens.
  std::string id;
  std::string title;
  // 1 is a section, 2 a part of the one before it.
  int level = 1;
  std::vector<Block> blocks;
};

struct Document {
  std::string title;
  // Under the title, one line.
  std::string subtitle;
  std::vector<Section> sections;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_DOCUMENT_H_
