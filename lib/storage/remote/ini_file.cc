#include "lib/storage/remote/ini_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace feedrate {
namespace {

// A comment fills a line, or follows a space.
absl::string_view WithoutComment(absl::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts = line[i] == '#' || line[i] == ';';
    if (starts && (i == 0 || absl::ascii_isspace(line[i - 1]))) {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

IniFile ParseIni(absl::string_view text) {
  IniFile file;
  std::map<std::string, std::string>* section = nullptr;
  std::string above;  // The key that indented lines belong to.
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool indented = !line.empty() && absl::ascii_isspace(line[0]);
    line = absl::StripAsciiWhitespace(WithoutComment(line));
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      const absl::string_view name =
          absl::StripAsciiWhitespace(line.substr(1, line.size() - 2));
      section = &file[std::string(name)];
      above.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == absl::string_view::npos) continue;
    const std::string key = absl::AsciiStrToLower(
        absl::StripAsciiWhitespace(line.substr(0, equals)));
    const absl::string_view value =
        absl::StripAsciiWhitespace(line.substr(equals + 1));
    if (indented && !above.empty()) {
      (*section)[absl::StrCat(above, ".", key)] = std::string(value);
    } else {
      (*section)[key] = std::string(value);
      above = value.empty() ? key : "";
    }
  }
  return file;
}

}  // namespace feedrate
