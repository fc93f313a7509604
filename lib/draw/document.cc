#include "lib/draw/document.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/text.h"

namespace feedrate {

namespace {

void EraseColumn(size_t column, DocumentTable* table) {
  table->header.erase(table->header.begin() + column);
  table->align.erase(table->align.begin() + column);
  for (auto& row : table->rows) row.erase(row.begin() + column);
}

}  // namespace

DocumentCell NotMeasured() {
  DocumentCell cell("not measured");
  cell.is_muted = true;
  return cell;
}

void DocumentTable::DropEmptyColumns() {
  const std::string nothing = NotMeasured().text;
  for (size_t column = header.size(); column-- > 1;) {
    const bool is_empty =
        std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
          const DocumentCell& cell = row[column];
          return cell.text.empty() || cell.text == nothing || cell.value == 0.0;
        });
    if (is_empty) EraseColumn(column, this);
  }
}

void DocumentTable::FoldConstantColumns() {
  if (rows.size() < 2) return;
  std::string folded;
  for (size_t column = 1; column < header.size();) {
    const DocumentCell first = rows[0][column];
    const bool is_constant =
        !first.text.empty() &&
        std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
          return row[column].text == first.text &&
                 !row[column].value.has_value();
        });
    if (!is_constant) {
      ++column;
      continue;
    }
    absl::StrAppend(&folded, folded.empty() ? "In all lines: " : "; ",
                    header[column], " ", first.text);
    EraseColumn(column, this);
  }
  if (folded.empty()) return;
  absl::StrAppend(&caption, caption.empty() ? "" : " ", folded, ".");
}

// The contents of page.css, with the $names of WithVariables, and of page.js.
// Defined in a generated file.
extern const char kPageCss[];
extern const char kPageJs[];

namespace {

// Tables with at least this many rows get a filter field.
constexpr size_t kRowsToFilter = 8;
constexpr size_t kSentence = 30;
// Tables with at least this many columns may be wider than a screen. Their
// first column stays in view.
constexpr size_t kWideTable = 4;

// Appends text that may follow code. A colon there cannot start a command of a
// CI system, as at the start of a line, so that it needs no escape.
void AppendPlain(absl::string_view plain, std::string* out) {
  if (!out->empty() && absl::ConsumePrefix(&plain, ":")) *out += ':';
  *out += MarkdownText(plain);
}

// Escapes `text` and formats text between back quotes as code.
std::string Prose(const std::string& text) {
  std::string out;
  bool is_code = false;
  for (const auto& part : absl::StrSplit(text, '`')) {
    if (is_code) {
      absl::StrAppend(&out, "<code>", XmlText(part), "</code>");
    } else {
      out += XmlText(part);
    }
    is_code = !is_code;
  }
  return out;
}

// The line of a cell, and its numbers for the script.
std::string LineHtml(const DocumentCell& cell) {
  constexpr double kWidth = 132;
  constexpr double kHeight = 26;
  constexpr double kMargin = 3;
  constexpr double kLeastSpan = 0.1;
  double low = cell.line[0].y;
  double high = low;
  for (const DocumentCell::Point& point : cell.line) {
    low = std::min(low, point.y);
    high = std::max(high, point.y);
  }
  // Noise of a few percent should look like noise.
  const double missing = std::max(0.0, kLeastSpan * high - (high - low)) / 2;
  low -= missing;
  high += missing;
  const double first = cell.line.front().x;
  const double span = std::max(1.0, cell.line.back().x - first);
  const auto x = [&](double at) {
    return kMargin + (kWidth - 2 * kMargin) * (at - first) / span;
  };
  Svg svg(kWidth, kHeight, cell.text);
  for (const int mark : cell.marks) {
    svg.Line(x(mark - 0.5), 0, x(mark - 0.5), kHeight, "axis");
  }
  PathData path;
  for (size_t i = 0; i < cell.line.size(); ++i) {
    const double share =
        high > low ? (cell.line[i].y - low) / (high - low) : 0.5;
    const double y = kHeight - kMargin - (kHeight - 2 * kMargin) * share;
    if (i == 0) {
      path.MoveTo(x(cell.line[i].x), y);
    } else {
      path.LineTo(x(cell.line[i].x), y);
    }
  }
  svg.Path(path.text(), "line k0");
  return svg.ToInline();
}

std::string LineAttributes(const DocumentCell& cell) {
  if (cell.line.empty()) return "";
  std::string xs;
  std::string ys;
  for (const DocumentCell::Point& point : cell.line) {
    absl::StrAppend(&xs, xs.empty() ? "" : " ", point.x);
    absl::StrAppend(&ys, ys.empty() ? "" : " ", point.y);
  }
  return absl::StrCat(" data-x=\"", xs, "\" data-y=\"", ys, "\" data-marks=\"",
                      absl::StrJoin(cell.marks, " "), "\"");
}

std::string LinkedProse(const DocumentCell& cell) {
  if (cell.link.empty()) return Prose(cell.text);
  return absl::StrCat("<a href=\"", XmlText(cell.link), "\">", Prose(cell.text),
                      "</a>");
}

std::string CellHtml(const DocumentCell& cell, Align align, bool is_name) {
  std::string classes;
  if (align == Align::kRight) classes += "n";
  if (cell.is_best) classes += " best";
  if (cell.is_muted) classes += " muted";
  if (!cell.line.empty()) classes += " spark";
  // A column of sentences must not shrink to one word per line.
  if (cell.text.size() > kSentence) classes += " long";
  std::string out = is_name ? "<th scope=\"row\"" : "<td";
  if (!classes.empty()) absl::StrAppend(&out, " class=\"", classes, "\"");
  if (cell.value.has_value() && std::isfinite(*cell.value)) {
    absl::StrAppend(&out, " data-v=\"", *cell.value, "\"");
  }
  if (!cell.hover.empty()) {
    absl::StrAppend(&out, " title=\"", XmlText(cell.hover), "\"");
  }
  absl::StrAppend(&out, LineAttributes(cell), ">",
                  cell.line.empty() ? LinkedProse(cell) : LineHtml(cell));
  if (!cell.detail.empty()) {
    absl::StrAppend(&out, " <small>", XmlText(cell.detail), "</small>");
  }
  if (!cell.remark.empty()) {
    absl::StrAppend(&out, "<br><small>", XmlText(cell.remark), "</small>");
  }
  return out + (is_name ? "</th>" : "</td>");
}

class HtmlWriter {
 public:
  explicit HtmlWriter(std::string* out) : out_(*out) {}

  void operator()(const Paragraph& paragraph) const {
    absl::StrAppend(&out_, paragraph.is_warning ? "<p class=\"note\">" : "<p>",
                    Prose(paragraph.text), "</p>\n");
  }

  void operator()(const KeyNumbers& numbers) const {
    out_ += "<dl class=\"key\">\n";
    for (const KeyNumber& number : numbers.numbers) {
      absl::StrAppend(&out_, "<div><dt>", XmlText(number.label), "</dt><dd>",
                      XmlText(number.value), "</dd></div>\n");
    }
    out_ += "</dl>\n";
  }

  void operator()(const DocumentTable& table) const {
    absl::StrAppend(&out_, "<div class=\"table",
                    table.header.size() >= kWideTable ? " wide" : "",
                    table.is_sentences ? " sentences" : "", "\"",
                    table.rows.size() >= kRowsToFilter ? " data-filter" : "",
                    ">");
    if (!table.point_names.empty()) PointNames(table);
    // Not a <caption>, which would scroll away with a wide table.
    if (!table.caption.empty()) {
      absl::StrAppend(&out_, "<p class=\"caption\">", Prose(table.caption),
                      "</p>\n");
    }
    out_ += "<div class=\"scroll\" tabindex=\"0\"><table>\n";
    out_ += "<thead><tr>";
    for (size_t i = 0; i < table.header.size(); ++i) {
      absl::StrAppend(&out_, "<th scope=\"col\"",
                      table.align[i] == Align::kRight ? " class=\"n\"" : "",
                      ">", XmlText(table.header[i]), "</th>");
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (const std::vector<DocumentCell>& row : table.rows) {
      out_ += "<tr>";
      for (size_t i = 0; i < row.size(); ++i) {
        out_ += CellHtml(row[i], table.align[i], i == 0);
      }
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div></div>\n";
  }

  void operator()(const Figure& figure) const {
    absl::StrAppend(&out_, "<figure id=\"", XmlText(figure.id), "\">\n");
    if (figure.has_log) {
      absl::StrAppend(&out_,
                      "<label class=\"log\"><input type=\"checkbox\"> log "
                      "scale</label>\n");
      Drawings(figure, ScaleType::kLog, "logarithmic");
    }
    Drawings(figure, ScaleType::kLinear, "linear");
    absl::StrAppend(&out_, "<figcaption>", Prose(figure.caption),
                    "</figcaption>\n</figure>\n");
  }

  void operator()(const CodeBlock& code) const {
    const std::string body = absl::StrCat(
        "<pre tabindex=\"0\"><code>", XmlText(code.text), "</code></pre>\n");
    if (code.summary.empty()) {
      out_ += body;
    } else {
      absl::StrAppend(&out_, "<details><summary>", Prose(code.summary),
                      "</summary>\n", body, "</details>\n");
    }
  }

 private:
  void PointNames(const DocumentTable& table) const {
    absl::StrAppend(&out_, "<ul class=\"points\" hidden data-link=\"",
                    XmlText(table.point_link), "\">");
    for (size_t i = 0; i < table.point_names.size(); ++i) {
      const bool has_detail =
          i < table.point_details.size() && !table.point_details[i].empty();
      absl::StrAppend(&out_, "<li",
                      has_detail
                          ? absl::StrCat(" data-detail=\"",
                                         XmlText(table.point_details[i]), "\"")
                          : "",
                      ">", XmlText(table.point_names[i]), "</li>");
    }
    out_ += "</ul>\n";
  }

  void Drawings(const Figure& figure, ScaleType scale,
                const std::string& name) const {
    for (const bool wide : {true, false}) {
      absl::StrAppend(
          &out_, "<div class=\"drawing scroll ", name,
          wide ? " wide" : " narrow", "\" tabindex=\"0\">",
          figure.draw(scale, wide ? kWideFigure : kNarrowFigure).ToInline(),
          "</div>\n");
    }
  }

  std::string& out_;
};

std::string Rules() {
  const std::string dark = ColorVariables(Theme::kDark);
  return absl::StrCat(
      ":root{", ColorVariables(Theme::kLight), "color-scheme:light}\n",
      "@media screen and (prefers-color-scheme:dark){",
      ":root:not([data-theme=light]){", dark, "color-scheme:dark}}\n",
      "@media screen{:root[data-theme=dark]{", dark, "color-scheme:dark}}\n",
      WithVariables(kPageCss), WithVariables(ChartCss()));
}

std::string Navigation(const Document& document) {
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (const Section& section : document.sections) {
    if (!section.in_contents) continue;
    absl::StrAppend(&out, "<li", section.level > 1 ? " class=\"sub\"" : "",
                    "><a href=\"#", XmlText(section.id), "\">",
                    Prose(section.title), "</a></li>\n");
  }
  return out + "</ul></nav>\n";
}

}  // namespace

std::string ToHtml(const Document& document) {
  std::string out = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>",
      XmlText(document.title), "</title>\n",
      // Otherwise browsers request an icon from the server or the disk.
      "<link rel=\"icon\" href=\"data:,\">\n<style>\n", Rules(),
      "</style>\n</head>\n<body>\n<header><div><h1>", XmlText(document.title),
      "</h1><p>", Prose(document.subtitle),
      "</p></div></header>\n<div class=\"page\">\n", Navigation(document),
      "<main>\n");
  for (const Section& section : document.sections) {
    const std::string tag = section.level > 1 ? "h3" : "h2";
    absl::StrAppend(&out, "<section id=\"", XmlText(section.id), "\"><", tag,
                    ">", Prose(section.title), "</", tag, ">\n");
    for (const Block& block : section.blocks) {
      absl::visit(HtmlWriter(&out), block);
    }
    out += "</section>\n";
  }
  absl::StrAppend(&out, "</main>\n</div>\n<script>\n", kPageJs,
                  "</script>\n</body>\n</html>\n");
  return out;
}

namespace {

// Escapes `text` and formats text between back quotes as code, unless it would
// end the cell of a table. Back quotes of foreign text only move the bounds:
// what is not code is escaped as a whole, so that no two parts become markup
// together.
std::string MarkdownProse(const std::string& text, bool in_cell = false) {
  std::string out;
  std::string plain;
  bool is_code = false;
  for (const absl::string_view part : absl::StrSplit(text, '`')) {
    if (is_code && !part.empty() &&
        !(in_cell && absl::StrContains(part, '|'))) {
      AppendPlain(plain, &out);
      // Two codes without a space between them would be one.
      if (absl::EndsWith(out, "`")) out += ' ';
      out += MarkdownCode(part);
      plain.clear();
    } else {
      absl::StrAppend(&plain, part);
    }
    is_code = !is_code;
  }
  AppendPlain(plain, &out);
  return out;
}

// An address that nothing ends. Empty if it is none.
std::string MarkdownAddress(const std::string& link) {
  if (!absl::StartsWith(link, "http://") &&
      !absl::StartsWith(link, "https://")) {
    return "";
  }
  return absl::StrReplaceAll(
      PrintableText(link),
      {{"<", "%3C"}, {">", "%3E"}, {"`", "%60"}, {"|", "%7C"}, {"\\", "%5C"}});
}

// A fence that no line of `text` closes.
std::string FenceFor(const std::string& text) {
  std::string fence = "```";
  while (absl::StrContains(text, fence)) fence += '`';
  return fence;
}

class MarkdownWriter {
 public:
  MarkdownWriter(std::string figures_folder, std::string* out)
      : figures_folder_(std::move(figures_folder)), out_(*out) {}

  void operator()(const Paragraph& paragraph) const {
    absl::StrAppend(&out_, paragraph.is_warning ? "> **Note.** " : "",
                    MarkdownProse(paragraph.text), "\n\n");
  }

  void operator()(const KeyNumbers& numbers) const {
    for (const KeyNumber& number : numbers.numbers) {
      absl::StrAppend(&out_, "- ", MarkdownText(number.label), ": **",
                      MarkdownText(number.value), "**\n");
    }
    out_ += "\n";
  }

  void operator()(const DocumentTable& table) const {
    std::vector<std::string> header;
    for (const std::string& name : table.header) {
      header.push_back(MarkdownText(name));
    }
    std::vector<std::vector<std::string>> rows;
    for (const std::vector<DocumentCell>& row : table.rows) {
      std::vector<std::string>& cells = rows.emplace_back();
      for (const DocumentCell& cell : row) cells.push_back(CellText(cell));
    }
    if (!table.caption.empty()) {
      absl::StrAppend(&out_, MarkdownProse(table.caption), "\n\n");
    }
    absl::StrAppend(&out_, MarkdownTable(header, table.align, rows), "\n");
  }

  void operator()(const Figure& figure) const {
    if (figures_folder_.empty()) return;
    // A bracket would end the text of the image.
    const std::string caption =
        absl::StrReplaceAll(figure.caption, {{"[", "("}, {"]", ")"}});
    absl::StrAppend(&out_, "![", MarkdownProse(caption), "](", figures_folder_,
                    "/", figure.id, ".svg)\n\n");
  }

  void operator()(const CodeBlock& code) const {
    if (!code.summary.empty()) {
      absl::StrAppend(&out_, MarkdownProse(code.summary), ":\n\n");
    }
    const std::string fence = FenceFor(code.text);
    absl::StrAppend(&out_, fence, "\n", PrintableLines(code.text),
                    code.text.empty() || code.text.back() == '\n' ? "" : "\n",
                    fence, "\n\n");
  }

 private:
  static std::string CellText(const DocumentCell& cell) {
    std::string text = MarkdownProse(cell.text, /*in_cell=*/true);
    const std::string address = MarkdownAddress(cell.link);
    if (!address.empty()) text = absl::StrCat("[", text, "](<", address, ">)");
    if (cell.is_best) text = absl::StrCat("**", text, "**");
    if (!cell.detail.empty()) {
      absl::StrAppend(&text, " ", MarkdownText(cell.detail));
    }
    if (!cell.remark.empty()) {
      absl::StrAppend(&text, " ", MarkdownText(cell.remark));
    }
    return text;
  }

  const std::string figures_folder_;
  std::string& out_;
};

}  // namespace

std::string ToMarkdown(const Document& document,
                       const std::string& figures_folder) {
  std::string out = absl::StrCat("# ", MarkdownText(document.title), "\n\n");
  if (!document.subtitle.empty()) {
    absl::StrAppend(&out, MarkdownProse(document.subtitle), "\n\n");
  }
  for (const Section& section : document.sections) {
    absl::StrAppend(&out, std::string(section.level + 1, '#'), " ",
                    MarkdownProse(section.title), "\n\n");
    for (const Block& block : section.blocks) {
      absl::visit(MarkdownWriter(figures_folder, &out), block);
    }
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace feedrate
