#include "lib/analysis/aggregate/grid.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

Table ToTable(const Grid& grid) {
  std::vector<std::string> header;
  std::vector<Align> align;
  for (const GridCell& cell : grid.header) {
    header.push_back(cell.text);
    align.push_back(cell.right_aligned ? Align::kRight : Align::kLeft);
  }
  Table table(std::move(header), std::move(align));
  for (const std::vector<GridCell>& row : grid.rows) {
    std::vector<std::string> cells;
    std::vector<bool> best;
    for (const GridCell& cell : row) {
      cells.push_back(cell.text);
      best.push_back(cell.best);
    }
    table.AddRow(std::move(cells), std::move(best));
  }
  return table;
}

// The caption, with `best` as the name of how best cells look.
std::vector<std::string> CaptionOf(const Grid& grid, absl::string_view best) {
  std::vector<std::string> lines = grid.caption;
  if (!grid.best_means.empty()) {
    if (lines.empty()) lines.emplace_back();
    absl::StrAppend(&lines[0], lines[0].empty() ? "" : "; ", best, ": ",
                    grid.best_means);
  }
  return lines;
}

// With a mark behind the best cells, for text without color.
Grid Marked(Grid grid) {
  if (grid.best_means.empty()) return grid;
  for (std::vector<GridCell>& row : grid.rows) {
    for (GridCell& cell : row) {
      if (cell.best) cell.text += "^";
    }
  }
  return grid;
}

template <typename Render>
std::string Joined(const std::vector<GridCell>& cells,
                   absl::string_view separator, const Render& render) {
  std::vector<std::string> texts;
  for (const GridCell& cell : cells) texts.push_back(render(cell));
  return absl::StrJoin(texts, separator);
}

std::string LatexCell(const GridCell& cell) {
  const std::string text = LatexText(cell.text);
  return cell.best ? absl::StrCat("\\textbf{", text, "}") : text;
}

// Breaks a text at spaces into lines of kMaxColumns. A command, which stands
// behind `$ `, is not broken.
std::string Wrapped(const std::string& text, const std::string& indent) {
  const size_t command = text.find("$ ");
  std::vector<std::string> lines =
      WrappedLines(absl::StripTrailingAsciiWhitespace(text.substr(0, command)),
                   kMaxColumns, indent);
  if (command != std::string::npos) {
    lines.push_back(absl::StrCat(indent, text.substr(command)));
  }
  // A word that was harmless inside a line may be a command at its start.
  return PrintableLines(absl::StrJoin(lines, "\n"));
}

std::vector<size_t> WidthsOf(const Grid& grid) {
  std::vector<size_t> widths;
  for (const GridCell& cell : grid.header) {
    widths.push_back(DisplayWidth(PrintableText(cell.text)));
  }
  for (const std::vector<GridCell>& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(PrintableText(row[i].text)));
    }
  }
  return widths;
}

// Width of the first columns of a printed table.
size_t WidthOf(const std::vector<size_t>& widths, size_t columns) {
  size_t width = 0;
  for (size_t i = 0; i < columns; ++i) width += widths[i] + 2;
  return width < 2 ? 0 : width - 2;
}

// Moves the notes of a table that is too wide below it, each text once.
Grid WithFootnotes(const Grid& grid, std::vector<std::string>* footnotes) {
  const std::vector<size_t> widths = WidthsOf(grid);
  if (grid.header.empty() || grid.header.back().text != kNotesColumn ||
      WidthOf(widths, widths.size()) <= kMaxColumns) {
    return grid;
  }
  Grid narrow = grid;
  std::map<std::string, size_t> numbers;
  for (std::vector<GridCell>& row : narrow.rows) {
    std::string& note = row.back().text;
    if (note.empty()) continue;
    const auto [place, is_new] = numbers.emplace(note, numbers.size() + 1);
    if (is_new) {
      footnotes->push_back(absl::StrCat("[", place->second, "] ", note));
    }
    note = absl::StrCat("[", place->second, "]");
  }
  return narrow;
}

// Splits a table that is too wide into several that repeat the first columns.
std::vector<Grid> InParts(const Grid& grid) {
  const std::vector<size_t> widths = WidthsOf(grid);
  const size_t keys = std::min(grid.key_columns, widths.size());
  std::vector<Grid> parts;
  size_t next = keys;
  do {
    size_t width = WidthOf(widths, keys);
    size_t end = next;
    while (end < widths.size() &&
           (end == next || width + 2 + widths[end] <= kMaxColumns)) {
      width += 2 + widths[end++];
    }
    Grid& part = parts.emplace_back();
    const auto copy = [&](const std::vector<GridCell>& from) {
      std::vector<GridCell> cells(from.begin(),
                                  from.begin() + static_cast<ptrdiff_t>(keys));
      cells.insert(cells.end(), from.begin() + static_cast<ptrdiff_t>(next),
                   from.begin() + static_cast<ptrdiff_t>(end));
      return cells;
    };
    part.header = copy(grid.header);
    for (const std::vector<GridCell>& row : grid.rows) {
      part.rows.push_back(copy(row));
    }
    next = end;
  } while (next < widths.size());
  return parts;
}

}  // namespace

std::string RenderTable(const Grid& grid, bool color) {
  std::string text;
  for (const std::string& line : CaptionOf(grid, color ? "bold" : "^")) {
    absl::StrAppend(&text, Wrapped(PrintableText(line), ""), "\n");
  }
  std::vector<std::string> footnotes;
  const Grid narrow = WithFootnotes(color ? grid : Marked(grid), &footnotes);
  for (const Grid& part : InParts(narrow)) {
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    ToTable(part).ToText(color));
  }
  for (const std::string& note : footnotes) {
    absl::StrAppend(&text, Wrapped(PrintableText(note), "    "), "\n");
  }
  for (const std::string& note : grid.footnotes) {
    absl::StrAppend(&text, Wrapped(PrintableText(note), "  "), "\n");
  }
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, Wrapped(PrintableText(note), "  "), "\n");
  }
  return text;
}

std::string RenderMarkdown(const Grid& grid) {
  std::string text;
  for (const std::string& line : CaptionOf(grid, "bold")) {
    absl::StrAppend(&text, MarkdownText(line), "\n\n");
  }
  absl::StrAppend(&text, ToTable(grid).ToMarkdown());
  for (const auto* notes : {&grid.footnotes, &grid.notes}) {
    for (const std::string& note : *notes) {
      absl::StrAppend(&text, "\n", MarkdownText(note), "\n");
    }
  }
  return text;
}

std::string RenderCsv(const Grid& grid) {
  const auto render = [](const GridCell& cell) { return CsvField(cell.text); };
  std::string text = Joined(grid.header, ",", render) + "\n";
  for (const std::vector<GridCell>& row : grid.rows) {
    absl::StrAppend(&text, Joined(row, ",", render), "\n");
  }
  return text;
}

std::string RenderLatex(const Grid& grid) {
  std::string text = "% \\usepackage{booktabs}\n";
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, "% ", PrintableText(note), "\n");
  }
  absl::StrAppend(&text, "\\begin{table}\n\\centering\n");
  const std::vector<std::string> caption = CaptionOf(grid, "bold");
  if (!caption.empty()) {
    absl::StrAppend(&text, "\\caption{",
                    LatexText(absl::StrJoin(caption, "; ")), "}\n");
  }
  text += "\\begin{tabular}{";
  for (const GridCell& cell : grid.header) {
    text += cell.right_aligned ? 'r' : 'l';
  }
  absl::StrAppend(&text, "}\n\\toprule\n",
                  Joined(grid.header, " & ", LatexCell), " \\\\\n\\midrule\n");
  for (const std::vector<GridCell>& row : grid.rows) {
    // An empty group: `[` or `*` after the end of a row would belong to it.
    absl::StrAppend(
        &text,
        absl::StartsWith(row[0].text, "[") || absl::StartsWith(row[0].text, "*")
            ? "{}"
            : "",
        Joined(row, " & ", LatexCell), " \\\\\n");
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  if (!grid.footnotes.empty()) {
    absl::StrAppend(&text, "\\par\\smallskip\\footnotesize\n",
                    LatexText(absl::StrJoin(grid.footnotes, "; ")), "\n");
  }
  text += "\\end{table}\n";
  return text;
}

}  // namespace feedrate
