#include "lib/draw/markdown.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/variant.h"
#include "lib/draw/document.h"
#include "lib/draw/table.h"

namespace feedrate {
namespace {

// A table cell has one line, and no tag may start in it.
std::string OneLine(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\n", " "}, {"<", "&lt;"}});
}

class Writer {
 public:
  Writer(std::string figures_folder, std::string* out)
      : figures_folder_(std::move(figures_folder)), out_(*out) {}

  void operator()(const Paragraph& paragraph) const {
    absl::StrAppend(&out_, paragraph.is_warning ? "> **Note.** " : "",
                    paragraph.text, "\n\n");
  }

  void operator()(const KeyNumbers& numbers) const {
    for (const KeyNumber& number : numbers.numbers) {
      absl::StrAppend(&out_, "- ", number.label, ": **", number.value, "**\n");
    }
    out_ += "\n";
  }

  void operator()(const DocumentTable& table) const {
    Table text(table.header, table.align);
    for (const std::vector<DocumentCell>& row : table.rows) {
      std::vector<std::string> cells;
      for (const DocumentCell& cell : row) cells.push_back(CellText(cell));
      text.AddRow(std::move(cells));
    }
    if (!table.caption.empty()) absl::StrAppend(&out_, table.caption, "\n\n");
    absl::StrAppend(&out_, text.ToMarkdown(), "\n");
  }

  void operator()(const Figure& figure) const {
    if (figures_folder_.empty()) return;
    absl::StrAppend(&out_, "![", figure.caption, "](", figures_folder_, "/",
                    figure.id, ".svg)\n\n");
  }

  void operator()(const CodeBlock& code) const {
    if (!code.summary.empty()) absl::StrAppend(&out_, code.summary, ":\n\n");
    absl::StrAppend(&out_, "```\n", code.text,
                    code.text.empty() || code.text.back() == '\n' ? "" : "\n",
                    "```\n\n");
  }

 private:
  static std::string CellText(const DocumentCell& cell) {
    std::string text = OneLine(cell.text);
    if (cell.is_best) text = absl::StrCat("**", text, "**");
    if (!cell.detail.empty()) absl::StrAppend(&text, " ", OneLine(cell.detail));
    return text;
  }

  const std::string figures_folder_;
  std::string& out_;
};

}  // namespace

std::string ToMarkdown(const Document& document,
                       const std::string& figures_folder) {
  std::string out = absl::StrCat("# ", document.title, "\n\n");
  if (!document.subtitle.empty()) {
    absl::StrAppend(&out, document.subtitle, "\n\n");
  }
  for (const Section& section : document.sections) {
    absl::StrAppend(&out, std::string(section.level + 1, '#'), " ",
                    section.title, "\n\n");
    for (const Block& block : section.blocks) {
      absl::visit(Writer(figures_folder, &out), block);
    }
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace feedrate
