#include "lib/base/help_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/tool_info.h"

namespace feedrate {
namespace {

// Terminals are 80 columns wide when nobody changed them.
constexpr size_t kWidth = 80;
constexpr size_t kFlagColumn = 28;

// `text` broken between words; later lines are indented to `column`, where
// the first one is taken to start.
std::string Wrap(absl::string_view text, size_t column) {
  std::string wrapped;
  size_t at = column;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (at > column && at + 1 + word.size() > kWidth) {
      absl::StrAppend(&wrapped, "\n", std::string(column, ' '));
      at = column;
    } else if (at > column) {
      wrapped += ' ';
      ++at;
    }
    absl::StrAppend(&wrapped, word);
    at += word.size();
  }
  return wrapped;
}

std::string FlagLine(const ShownFlag& flag) {
  std::string head = absl::StrCat("  --", flag.name);
  if (!flag.placeholder.empty()) absl::StrAppend(&head, "=", flag.placeholder);
  std::string text = flag.description;
  // An override that is not given leaves the config's value, not a default.
  if (!flag.shared && !flag.default_value.empty() &&
      flag.default_value != "false") {
    absl::StrAppend(&text, " (default ", flag.default_value, ")");
  }
  if (head.size() + 2 > kFlagColumn) {
    absl::StrAppend(&head, "\n", std::string(kFlagColumn, ' '));
  } else {
    head.resize(kFlagColumn, ' ');
  }
  return absl::StrCat(head, Wrap(text, kFlagColumn), "\n");
}

void AppendFlags(absl::string_view title, const std::vector<ShownFlag>& flags,
                 bool shared, std::string* text) {
  std::string lines;
  for (const ShownFlag& flag : flags) {
    if (flag.shared == shared) lines += FlagLine(flag);
  }
  if (!lines.empty()) absl::StrAppend(text, "\n", title, "\n", lines);
}

constexpr char kCommonFlags[] = R"(
Every program has
  --help                    this text (--helpfull adds the libraries' flags)
  --version                 the release
  --completion=SHELL        a completion script {bash|zsh|fish}
Hyphens and underscores are alike in flag names.
)";

constexpr char kExitCodes[] = R"(
Exit codes
  0 done   1 the caller's mistake   2 the run failed   3 the check said no
  4 cannot tell   5 nothing comparable, or invalid   130 interrupted
)";

}  // namespace

std::string HelpText(const ToolInfo& info, bool all) {
  std::string text =
      absl::StrCat(info.name, ": ", info.summary, "\n\nusage: ", info.name, " ",
                   info.usage, "\n\n", info.description, "\n");
  const std::vector<ShownFlag> flags = FlagsOf(info, all);
  AppendFlags("Flags", flags, /*shared=*/false, &text);
  AppendFlags("Overrides of the config, the same in every program", flags,
              /*shared=*/true, &text);
  absl::StrAppend(&text, kCommonFlags, kExitCodes);
  if (!info.examples.empty()) absl::StrAppend(&text, "\nExamples\n");
  for (const std::string& example : info.examples) {
    absl::StrAppend(&text, "  ", example, "\n");
  }
  return text;
}

}  // namespace feedrate
