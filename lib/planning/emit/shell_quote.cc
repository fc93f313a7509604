#include "lib/planning/emit/shell_quote.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace feedrate {
namespace {

bool IsPlain(char c) {
  return absl::ascii_isalnum(c) ||
         absl::string_view("@%+=:,./_-").find(c) != absl::string_view::npos;
}

}  // namespace

std::string ShellQuote(absl::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) plain = plain && IsPlain(c);
  if (plain) return std::string(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

void ShellSettings::Comment(absl::string_view text) {
  absl::StrAppend(&text_, "# ", text, "\n");
}

void ShellSettings::Set(absl::string_view name, absl::string_view value) {
  absl::StrAppend(&text_, name, "=", ShellQuote(value), "\n");
}

void ShellSettings::SetList(absl::string_view name,
                            const std::vector<std::string>& words) {
  absl::StrAppend(&text_, name, "=(");
  for (size_t i = 0; i < words.size(); ++i) {
    absl::StrAppend(&text_, i == 0 ? "" : " ", ShellQuote(words[i]));
  }
  text_ += ")\n";
}

}  // namespace feedrate
