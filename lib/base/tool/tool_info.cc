#include "lib/base/tool/tool_info.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

bool BelongsTo(const ToolInfo& info, const std::string& file) {
  return std::any_of(
      info.flag_files.begin(), info.flag_files.end(),
      [&](const std::string& own) { return absl::EndsWith(file, own); });
}

bool IsPlaceholder(absl::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isupper(c) || c == '_' || c == ',' || c == '.' ||
           absl::ascii_isdigit(c);
  });
}

std::string DefaultPlaceholder(const std::string& type) {
  if (type == "bool") return "";
  if (type == "string") return "TEXT";
  return type == "double" ? "X" : "N";
}

}  // namespace

ShownFlag DescribeFlag(const gflags::CommandLineFlagInfo& flag) {
  ShownFlag shown;
  shown.name = flag.name;
  shown.placeholder = DefaultPlaceholder(flag.type);
  shown.description = flag.description;
  const size_t colon = flag.description.find(": ");
  if (colon != std::string::npos &&
      IsPlaceholder(flag.description.substr(0, colon))) {
    shown.placeholder = flag.description.substr(0, colon);
    shown.description = flag.description.substr(colon + 2);
  }
  shown.choices = ChoicesOf(shown.description);
  shown.default_value = flag.type == "double" ? ShortNumber(flag.default_value)
                                              : flag.default_value;
  shown.shared = absl::EndsWith(flag.filename, kOverrideFlagsFile);
  return shown;
}

std::string ShortNumber(const std::string& text) {
  double number = 0, again = 0;
  const bool is_same = absl::SimpleAtod(text, &number) &&
                       absl::SimpleAtod(absl::StrCat(number), &again) &&
                       again == number;
  return is_same ? absl::StrCat(number) : text;
}

std::vector<ShownFlag> FlagsOf(const ToolInfo& info, bool all) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<ShownFlag> shown;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (all || BelongsTo(info, flag.filename))
      shown.push_back(DescribeFlag(flag));
  }
  std::sort(
      shown.begin(), shown.end(),
      [](const ShownFlag& a, const ShownFlag& b) { return a.name < b.name; });
  return shown;
}

namespace {

// The default width of terminals.
constexpr size_t kWidth = 80;
constexpr size_t kFlagColumn = 28;

// Wraps `text` between words. The first line starts at `column`, and later
// lines are indented to it.
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
  // An override that is not given leaves the config's value, so it has no
  // default.
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
Flags of every program
  --help                    print this text; --helpfull adds library flags
  --version                 print the version
  --completion=SHELL        print a completion script {bash|zsh|fish}
Hyphens and underscores are equivalent in flag names.
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
  if (!info.examples.empty()) absl::StrAppend(&text, "\nExamples\n");
  for (const std::string& example : info.examples) {
    absl::StrAppend(&text, "  ", example, "\n");
  }
  const std::vector<ShownFlag> flags = FlagsOf(info, all);
  AppendFlags("Flags", flags, /*shared=*/false, &text);
  AppendFlags("Flags that override the config, the same in every program",
              flags, /*shared=*/true, &text);
  absl::StrAppend(&text, kCommonFlags, kExitCodes);
  return text;
}

namespace {

std::vector<ShownFlag> CompletedFlags(const ToolInfo& info) {
  std::vector<ShownFlag> flags = FlagsOf(info, /*all=*/false);
  flags.push_back({"help", "", "print help", {}, "", false});
  flags.push_back({"version", "", "print the version", {}, "", false});
  flags.push_back({"completion",
                   "SHELL",
                   "print a completion script",
                   {"bash", "zsh", "fish"},
                   "",
                   false});
  return flags;
}

// Quotes `text` with single quotes. For fish, `text` must not contain one.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The command that lists the values of a flag which takes names of the
// catalogue, separated by commas. Empty for other flags. Through sh, because
// fish complains about an unknown command whatever is redirected.
std::string ListCommand(const ShownFlag& flag) {
  if (flag.name != "libraries" && flag.name != "transforms") return "";
  const std::string list = absl::StrCat("plan --list=", flag.name);
  return absl::StrCat("sh -c \"", list, " || feedrate ", list,
                      "\" 2>/dev/null");
}

// bash splits words at `=`, unless the user removed it from COMP_WORDBREAKS:
// the flag's name is one or two words back, or in the word itself.
constexpr char kBashStart[] = R"(() {
  local word="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}"
  local before=
  if [[ "$word" == = ]]; then
    word=
  elif [[ "$flag" == = ]]; then
    flag="${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ "$word" == -*=* ]]; then
    flag="${word%%=*}" before="${word%%=*}=" word="${word#*=}"
  fi
  flag="${flag#-}" flag="${flag#-}"
  local choices=
  case "${flag//-/_}" in
)";

// `-o filenames` is set only for file names: quoting would break `--flag=`.
constexpr char kBashEnd[] = R"(  esac
  if [[ -n "$choices" ]]; then
    if [[ "$word" == *,* ]]; then
      before="$before${word%,*}," word="${word##*,}"
    fi
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$choices" -- "$word")
  elif [[ -z "$before" && "$word" == -* ]]; then
    word="${word#-}" word="${word#-}"
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "--${word//-/_}")
    if [[ "${COMPREPLY[0]-}" == *= ]]; then compopt -o nospace 2>/dev/null; fi
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -P "$before" -f -- "$word")
  fi
}
)";

std::string Bash(const ToolInfo& info, const std::vector<ShownFlag>& flags) {
  const std::string function = absl::StrCat("_feedrate_", info.name);
  std::string cases;
  std::string names;
  for (const ShownFlag& flag : flags) {
    absl::StrAppend(&names, names.empty() ? "" : " ", "--", flag.name,
                    flag.placeholder.empty() ? "" : "=");
    if (!flag.choices.empty()) {
      absl::StrAppend(&cases, "    ", flag.name,
                      ") choices=", Quoted(absl::StrJoin(flag.choices, " ")),
                      " ;;\n");
    } else if (!ListCommand(flag).empty()) {
      absl::StrAppend(&cases, "    ", flag.name, ") choices=\"$(",
                      ListCommand(flag), ")\" ;;\n");
    }
  }
  return absl::StrCat(
      "# bash completion of ", info.name, "; load it with: source <(",
      info.name, " --completion=bash)\n", function, kBashStart, cases,
      absl::StrReplaceAll(kBashEnd, {{"\"$names\"", Quoted(names)}}),
      "complete -F ", function, " ", info.name, "\n");
}

// Brackets and colons separate the parts of an _arguments specification.
std::string ZshEscaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"[", "("}, {"]", ")"}, {":", "\\:"}});
}

std::string Zsh(const ToolInfo& info, const std::vector<ShownFlag>& flags) {
  const std::string function = absl::StrCat("_", info.name);
  std::string script = absl::StrCat("#compdef ", info.name, "\n", function,
                                    "() {\n  _arguments \\\n");
  for (const ShownFlag& flag : flags) {
    std::string spec = absl::StrCat("--", flag.name);
    if (!flag.placeholder.empty()) spec += "=";
    absl::StrAppend(&spec, "[", ZshEscaped(flag.description), "]");
    if (!flag.choices.empty()) {
      absl::StrAppend(&spec, ":", flag.placeholder, ":(",
                      absl::StrJoin(flag.choices, " "), ")");
    } else if (!ListCommand(flag).empty()) {
      absl::StrAppend(&spec, ":", flag.placeholder, ":{_values -s , ",
                      flag.name, " $(", ListCommand(flag), ")}");
    } else if (!flag.placeholder.empty()) {
      absl::StrAppend(&spec, ":", flag.placeholder, ":_files");
    }
    absl::StrAppend(&script, "    ", Quoted(spec), " \\\n");
  }
  // In a file in $fpath this is the function's body; otherwise it is sourced.
  return absl::StrCat(
      script, "    '*:file:_files'\n}\nif [[ \"$funcstack[1]\" == ", function,
      " ]]; then\n  ", function, " \"$@\"\nelse\n  compdef ", function, " ",
      info.name, "\nfi\n");
}

std::string Fish(const ToolInfo& info, const std::vector<ShownFlag>& flags) {
  std::string script;
  for (const ShownFlag& flag : flags) {
    absl::StrAppend(&script, "complete -c ", info.name, " -l ", flag.name);
    if (!flag.placeholder.empty()) absl::StrAppend(&script, " -r");
    if (!flag.choices.empty()) {
      absl::StrAppend(&script, " -f -a ",
                      Quoted(absl::StrJoin(flag.choices, " ")));
    } else if (!ListCommand(flag).empty()) {
      absl::StrAppend(&script, " -f -a '(__fish_complete_list , \"",
                      absl::StrReplaceAll(ListCommand(flag), {{"\"", "\\\""}}),
                      "\")'");
    }
    // fish has no '\'' : its single quotes take a backslash instead.
    absl::StrAppend(
        &script, " -d '",
        absl::StrReplaceAll(flag.description, {{"\\", "\\\\"}, {"'", "\\'"}}),
        "'\n");
  }
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const ToolInfo& info,
                                             absl::string_view shell) {
  const std::vector<ShownFlag> flags = CompletedFlags(info);
  if (shell == "bash") return Bash(info, flags);
  if (shell == "zsh") return Zsh(info, flags);
  if (shell == "fish") return Fish(info, flags);
  return absl::InvalidArgumentError(
      absl::StrCat("--completion: no script for \"", shell, "\"",
                   DidYouMean(shell, {"bash", "zsh", "fish"})));
}

}  // namespace feedrate
