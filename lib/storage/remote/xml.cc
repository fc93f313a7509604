#include "lib/storage/remote/xml.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Deeper than anything that S3 sends.
constexpr size_t kMaxDepth = 32;

void AppendUtf8(uint32_t code, std::string* text) {
  if (code < 0x80) {
    *text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const uint32_t lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
  *text += static_cast<char>(lead | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) {
    *text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
  }
}

// The character for "&name;"; returns false if there is none.
bool AppendEntity(absl::string_view name, std::string* text) {
  if (name == "amp") return *text += '&', true;
  if (name == "lt") return *text += '<', true;
  if (name == "gt") return *text += '>', true;
  if (name == "quot") return *text += '"', true;
  if (name == "apos") return *text += '\'', true;
  uint32_t code = 0;
  const bool number =
      absl::ConsumePrefix(&name, "#x") || absl::ConsumePrefix(&name, "#X")
          ? absl::SimpleHexAtoi(name, &code)
          : absl::ConsumePrefix(&name, "#") && absl::SimpleAtoi(name, &code);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (!number || code == 0 || code > 0x10ffff || surrogate) return false;
  AppendUtf8(code, text);
  return true;
}

class Reader {
 public:
  Reader(absl::string_view document, const XmlElement& element)
      : rest_(document), element_(element) {}

  absl::Status Run() {
    while (!rest_.empty()) {
      if (rest_[0] != '<') {
        if (!TakeText()) return Wrong("a broken entity");
      } else if (!TakeMarkup()) {
        return Wrong("a broken tag");
      }
    }
    if (!open_.empty()) return Wrong("it breaks off");
    return closed_root_ ? absl::OkStatus() : Wrong("it has no element");
  }

 private:
  struct Open {
    std::string path;
    std::string text;
  };

  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("no XML: ", what));
  }

  // Skips everything up to and including `end`; returns false if it is not
  // found.
  bool SkipPast(absl::string_view end) {
    const size_t at = rest_.find(end);
    if (at == absl::string_view::npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }

  bool TakeText() {
    if (rest_[0] != '&') {
      const absl::string_view plain =
          rest_.substr(0, rest_.find_first_of("<&"));
      if (!open_.empty()) absl::StrAppend(&open_.back().text, plain);
      rest_.remove_prefix(plain.size());
      return true;
    }
    const size_t end = rest_.substr(0, 12).find(';');
    if (end == absl::string_view::npos || open_.empty()) return false;
    const absl::string_view name = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return AppendEntity(name, &open_.back().text);
  }

  bool TakeMarkup() {
    if (absl::StartsWith(rest_, "<!--")) return SkipPast("-->");
    if (absl::StartsWith(rest_, "<?")) return SkipPast("?>");
    if (absl::StartsWith(rest_, "<![CDATA[")) return TakeRawText();
    if (absl::StartsWith(rest_, "<!")) return false;
    return TakeTag();
  }

  bool TakeRawText() {
    rest_.remove_prefix(9);
    const size_t end = rest_.find("]]>");
    if (end == absl::string_view::npos || open_.empty()) return false;
    absl::StrAppend(&open_.back().text, rest_.substr(0, end));
    rest_.remove_prefix(end + 3);
    return true;
  }

  bool TakeTag() {
    size_t end = 1;
    // A ">" inside an attribute's value does not end the tag.
    for (char quote = 0; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (quote == 0 && c == '>') break;
      if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = 0;
      }
    }
    if (end >= rest_.size()) return false;
    absl::string_view tag = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    const bool closes = absl::ConsumePrefix(&tag, "/");
    const bool empty = absl::ConsumeSuffix(&tag, "/");
    absl::string_view name = tag.substr(0, tag.find_first_of(" \t\r\n"));
    const size_t prefix = name.find(':');
    if (prefix != absl::string_view::npos) name.remove_prefix(prefix + 1);
    if (name.empty()) return false;
    if (closes) return !empty && Close(name);
    return OpenElement(name) && (!empty || Close(name));
  }

  bool OpenElement(absl::string_view name) {
    if (open_.size() >= kMaxDepth) return false;
    if (open_.empty() && closed_root_) return false;
    open_.push_back({open_.empty() ? std::string(name)
                                   : absl::StrCat(open_.back().path, "/", name),
                     ""});
    return true;
  }

  bool Close(absl::string_view name) {
    if (open_.empty()) return false;
    const Open& last = open_.back();
    if (last.path != name &&
        !absl::EndsWith(last.path, absl::StrCat("/", name))) {
      return false;
    }
    element_(last.path, last.text);
    open_.pop_back();
    closed_root_ = closed_root_ || open_.empty();
    return true;
  }

  absl::string_view rest_;
  const XmlElement& element_;
  std::vector<Open> open_;
  bool closed_root_ = false;
};

}  // namespace

absl::Status ReadXml(absl::string_view document, const XmlElement& element) {
  return Reader(document, element).Run();
}

}  // namespace feedrate
