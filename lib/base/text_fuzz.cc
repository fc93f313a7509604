// For any bytes: what each kind of output gets is printable, holds no command
// of a CI server and no markup, and its own reader gets the text back. URLs
// that the bytes make, inside of other text, lose their secrets.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/base/text.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

void CheckPrintable(const std::string& out) {
  absl::string_view rest = out;
  while (!rest.empty()) {
    char32_t c;
    CHECK(TakeCharacter(&rest, &c)) << "invalid UTF-8: " << out;
    CHECK(!IsUnprintable(c)) << out;
  }
  CHECK(!absl::StrContains(out, "##")) << out;
  // Spaces before a command do not matter, and some are beyond ASCII.
  size_t start = 0;
  while (start < out.size() &&
         (out[start] == ' ' || static_cast<uint8_t>(out[start]) >= 0x80)) {
    ++start;
  }
  CHECK(!absl::StartsWith(absl::string_view(out).substr(start), "::")) << out;
}

// What a parser of XML makes of it.
std::string FromXml(const std::string& xml) {
  CHECK_EQ(xml.find_first_of("<>\"'"), std::string::npos) << xml;
  for (size_t at = xml.find('&'); at != xml.npos; at = xml.find('&', at + 1)) {
    const absl::string_view entity =
        absl::string_view(xml).substr(at, xml.find(';', at) + 1 - at);
    CHECK(entity == "&amp;" || entity == "&lt;" || entity == "&gt;" ||
          entity == "&quot;" || entity == "&#39;" || entity == "&#35;" ||
          entity == "&#10;" || entity == "&#9;")
        << xml;
  }
  return absl::StrReplaceAll(xml, {{"&amp;", "&"},
                                   {"&lt;", "<"},
                                   {"&gt;", ">"},
                                   {"&quot;", "\""},
                                   {"&#39;", "'"},
                                   {"&#35;", "#"},
                                   {"&#10;", "\n"},
                                   {"&#9;", "\t"}});
}

// What a shell makes of it.
std::string FromShell(const std::string& word) {
  CHECK(!word.empty());
  if (word[0] != '\'') {
    CHECK_EQ(word.find_first_of(" \t\n\"'\\$`|&;<>()*?[]#~{}!^"), word.npos);
    return word;
  }
  std::string text;
  bool quoted = false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else if (quoted) {
      text += word[i];
    } else {
      CHECK(word[i] == '\\' && word[i + 1] == '\'') << word;
      text += word[++i];
    }
  }
  CHECK(!quoted) << word;
  return text;
}

void CheckCsv(absl::string_view text, const std::string& printable) {
  std::string field = CsvField(text);
  CheckPrintable(field);
  if (absl::StartsWith(field, "\"")) {
    CHECK_GE(field.size(), 2);
    field = absl::StrReplaceAll(field.substr(1, field.size() - 2),
                                {{"\"\"", "\""}});
  } else {
    CHECK_EQ(field.find_first_of(",\""), field.npos);
  }
  CHECK(field == printable || field == absl::StrCat("'", printable)) << field;
}

void CheckMarkdown(absl::string_view text, const std::string& printable) {
  const std::string out = MarkdownText(text);
  CheckPrintable(out);
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    const char next = out[i + 1];
    if (out[i] == '<') CHECK(!isalpha(next) && next != '/' && next != '!');
    if (out[i] == '|') CHECK(i > 0 && out[i - 1] == '\\') << out;
  }
  const std::string code = MarkdownCode(text);
  CheckPrintable(code);
  if (text.empty()) {
    CHECK(code.empty());
    return;
  }
  const std::string fence = code.substr(0, code.find_first_not_of('`'));
  CHECK(absl::EndsWith(code, fence));
  const std::string inside =
      code.substr(fence.size(), code.size() - 2 * fence.size());
  CHECK(!absl::StrContains(inside, fence)) << code;
  CHECK(inside == printable || inside == absl::StrCat(" ", printable, " "));
}

void CheckOutputs(absl::string_view text) {
  const std::string printable = PrintableText(text);
  CheckPrintable(printable);
  CHECK_EQ(PrintableText(printable), printable);
  const std::string lines = PrintableLines(text);
  CHECK_EQ(PrintableLines(lines), lines);
  CheckPrintable(LatexText(text));
  CheckPrintable(GithubMessage(text));
  CheckPrintable(GithubProperty(text));
  CheckCsv(text, printable);
  CheckMarkdown(text, printable);
  const std::string xml = XmlText(text);
  CHECK(!absl::StrContains(xml, "##")) << xml;
  if (printable == text) CHECK_EQ(FromXml(xml), text);
  CHECK_EQ(FromShell(ShellWord(text)), text);
  const auto id = DatasetId(text);
  if (id.ok()) CHECK(!id->empty() && *id != "." && *id != "..");
  const auto bytes = ParseSize(text);
  if (bytes.has_value()) CHECK_GE(*bytes, 0);
}

void CheckSecrets(Decisions* decisions) {
  const auto word = [&](uint32_t bound) {
    std::string text = decisions->Bytes(bound);
    for (char& c : text) c = "abc/.-=&%@:+"[static_cast<uint8_t>(c) % 12];
    return text;
  };
  std::string text = word(10);
  for (uint32_t left = 1 + decisions->Below(3); left > 0; --left) {
    absl::StrAppend(&text, decisions->Yes() ? " \"http" : "\nhttps", "://");
    if (decisions->Yes()) absl::StrAppend(&text, "SECRET:SECRET@");
    absl::StrAppend(&text, "host/", word(8));
    if (decisions->Yes()) absl::StrAppend(&text, "?", word(4), "SECRET");
  }
  CHECK(!absl::StrContains(WithoutQueries(text), "SECRET")) << text;
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::CheckOutputs(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  feedrate::Decisions decisions(data, size);
  feedrate::CheckSecrets(&decisions);
  return 0;
}
