#include "lib/analysis/render.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/analysis/grid.h"
#include "lib/draw/text.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// Bold and green, and back.
constexpr char kBold[] = "\x1B[1;32m";
constexpr char kPlain[] = "\x1B[0m";

// A line break in a reason would end the row.
std::string OneLine(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\r", " "}, {"\n", " "}, {"\x1B", ""}});
}

Table ToTable(const Grid& grid, absl::string_view before,
              absl::string_view after) {
  std::vector<std::string> header;
  std::vector<Align> align;
  for (const GridCell& cell : grid.header) {
    header.push_back(OneLine(cell.text));
    align.push_back(cell.right_aligned ? Align::kRight : Align::kLeft);
  }
  Table table(std::move(header), std::move(align));
  for (const std::vector<GridCell>& row : grid.rows) {
    std::vector<std::string> cells;
    for (const GridCell& cell : row) {
      const std::string text = OneLine(cell.text);
      cells.push_back(cell.best ? absl::StrCat(before, text, after) : text);
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string CsvField(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == absl::string_view::npos) {
    return std::string(text);
  }
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

template <typename Render>
std::string Joined(const std::vector<GridCell>& cells,
                   absl::string_view separator, const Render& render) {
  std::vector<std::string> texts;
  for (const GridCell& cell : cells) texts.push_back(render(cell));
  return absl::StrJoin(texts, separator);
}

std::string LatexCell(const GridCell& cell) {
  const std::string text = EscapeLatex(OneLine(cell.text));
  return cell.best ? absl::StrCat("\\textbf{", text, "}") : text;
}

// Without the newline.
void AppendElement(const google::protobuf::Message& record, bool first,
                   std::string* out) {
  if (!first) out->append(",\n");
  AppendRecord(record, out);
  out->pop_back();
}

}  // namespace

std::string RenderTable(const Grid& grid, bool colour) {
  std::string text =
      ToTable(grid, colour ? kBold : "", colour ? kPlain : "").ToText();
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, OneLine(note), "\n");
  }
  return text;
}

std::string RenderMarkdown(const Grid& grid) {
  std::string text = ToTable(grid, "**", "**").ToMarkdown();
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, "\n", OneLine(note), "\n");
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
    absl::StrAppend(&text, "% ", OneLine(note), "\n");
  }
  text += "\\begin{tabular}{";
  for (const GridCell& cell : grid.header) {
    text += cell.right_aligned ? 'r' : 'l';
  }
  absl::StrAppend(&text, "}\n\\toprule\n",
                  Joined(grid.header, " & ", LatexCell), " \\\\\n\\midrule\n");
  for (const std::vector<GridCell>& row : grid.rows) {
    absl::StrAppend(&text, Joined(row, " & ", LatexCell), " \\\\\n");
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  return text;
}

std::string RenderJsonl(const AggregateResult& result) {
  std::string text;
  for (const Aggregate& aggregate : result.aggregates) {
    AppendRecord(aggregate, &text);
  }
  for (const MeanSpeedUp& mean : result.means) AppendRecord(mean, &text);
  return text;
}

std::string RenderJson(const AggregateResult& result) {
  std::string text = "{\"aggregates\":[\n";
  for (const Aggregate& aggregate : result.aggregates) {
    AppendElement(aggregate, &aggregate == result.aggregates.data(), &text);
  }
  text += "],\n\"mean_speed_ups\":[\n";
  for (const MeanSpeedUp& mean : result.means) {
    AppendElement(mean, &mean == result.means.data(), &text);
  }
  return text + "]}\n";
}

std::string EscapeLatex(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\textbackslash{}"},
                                    {"{", "\\{"},
                                    {"}", "\\}"},
                                    {"$", "\\$"},
                                    {"&", "\\&"},
                                    {"#", "\\#"},
                                    {"%", "\\%"},
                                    {"_", "\\_"},
                                    {"~", "\\textasciitilde{}"},
                                    {"^", "\\textasciicircum{}"},
                                    {"<", "\\textless{}"},
                                    {">", "\\textgreater{}"}});
}

}  // namespace feedrate
