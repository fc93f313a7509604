#include "lib/draw/testing/output_checks.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"

namespace feedrate {

::testing::AssertionResult MatchesGolden(const std::string& actual,
                                         const std::string& path) {
  const char* const out = std::getenv("FEEDRATE_GOLDEN_OUT");
  if (out != nullptr && *out != '\0') {
    const std::string target = JoinPath(out, path);
    absl::Status status = MakeFolder(ParentFolder(target));
    if (status.ok()) status = WriteFileAtomically(target, actual);
    return ::testing::AssertionFailure()
           << (status.ok() ? "written: " + target : status.ToString());
  }
  const absl::StatusOr<std::string> expected = ReadFile(path);
  if (!expected.ok()) {
    return ::testing::AssertionFailure() << expected.status();
  }
  if (*expected == actual) return ::testing::AssertionSuccess();
  const std::vector<std::string> have = absl::StrSplit(actual, '\n');
  const std::vector<std::string> want = absl::StrSplit(*expected, '\n');
  size_t line = 0;
  while (line < have.size() && line < want.size() && have[line] == want[line]) {
    ++line;
  }
  return ::testing::AssertionFailure()
         << path << ":" << line + 1 << ": expected\n  "
         << (line < want.size() ? want[line] : "(the end)") << "\nand got\n  "
         << (line < have.size() ? have[line] : "(the end)");
}

namespace {

absl::Status Broken(absl::string_view what, absl::string_view rest) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " at: ", rest.substr(0, 60)));
}

absl::Status CheckEntities(absl::string_view text) {
  for (size_t at = text.find('&'); at != absl::string_view::npos;
       at = text.find('&', at + 1)) {
    const size_t end = text.find(';', at);
    if (end == absl::string_view::npos || end - at > 8 || end - at < 3) {
      return Broken("a stray &", text.substr(at));
    }
  }
  return absl::OkStatus();
}

std::string TakeName(absl::string_view* text) {
  size_t end = 0;
  while (end < text->size() &&
         (std::isalnum(static_cast<unsigned char>((*text)[end])) != 0 ||
          absl::string_view("-_:.").find((*text)[end]) !=
              absl::string_view::npos)) {
    ++end;
  }
  const std::string name(text->substr(0, end));
  text->remove_prefix(end);
  return name;
}

// `text` is what follows the tag's name.
absl::Status CheckAttributes(absl::string_view text) {
  std::set<std::string> seen;
  while (true) {
    const absl::string_view before = text;
    text = absl::StripLeadingAsciiWhitespace(text);
    if (text.empty()) return absl::OkStatus();
    if (before.size() == text.size()) return Broken("no space", before);
    const std::string name = TakeName(&text);
    if (name.empty()) return Broken("no attribute name", before);
    if (!seen.insert(name).second) return Broken("given twice", before);
    if (!absl::ConsumePrefix(&text, "=\"")) return Broken("no quote", before);
    const size_t end = text.find('"');
    if (end == absl::string_view::npos) return Broken("open quote", before);
    const absl::Status status = CheckEntities(text.substr(0, end));
    if (!status.ok()) return status;
    if (absl::StrContains(text.substr(0, end), "<")) {
      return Broken("< in a value", before);
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

absl::Status CheckXml(absl::string_view xml) {
  std::vector<std::string> open;
  bool seen_root = false;
  if (absl::StartsWith(xml, "<?xml")) xml.remove_prefix(xml.find("?>") + 2);
  while (!xml.empty()) {
    const size_t start = xml.find('<');
    const absl::string_view text = xml.substr(0, start);
    const absl::Status status = CheckEntities(text);
    if (!status.ok()) return status;
    if (open.empty() && !absl::StripAsciiWhitespace(text).empty()) {
      return Broken("text outside the root", text);
    }
    if (start == absl::string_view::npos) break;
    const size_t end = xml.find('>', start);
    if (end == absl::string_view::npos) return Broken("open tag", xml);
    absl::string_view tag = xml.substr(start + 1, end - start - 1);
    xml.remove_prefix(end + 1);
    if (absl::ConsumePrefix(&tag, "/")) {
      if (open.empty() || open.back() != tag) return Broken("</", tag);
      open.pop_back();
      continue;
    }
    const bool empty = absl::ConsumeSuffix(&tag, "/");
    const absl::string_view whole = tag;
    const std::string name = TakeName(&tag);
    if (name.empty()) return Broken("no name", whole);
    const absl::Status attributes = CheckAttributes(tag);
    if (!attributes.ok()) return attributes;
    if (open.empty() && seen_root) return Broken("a second root", whole);
    seen_root = true;
    if (!empty) open.push_back(name);
  }
  if (!open.empty()) return Broken("never closed", open.back());
  return seen_root ? absl::OkStatus() : Broken("no element", "");
}

}  // namespace feedrate
