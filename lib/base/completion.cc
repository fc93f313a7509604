#include "lib/base/completion.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/base/did_you_mean.h"
#include "lib/base/tool_info.h"

namespace feedrate {
namespace {

std::vector<ShownFlag> CompletedFlags(const ToolInfo& info) {
  std::vector<ShownFlag> flags = FlagsOf(info, /*all=*/false);
  flags.push_back({"help", "", "how to use it", {}, "", false});
  flags.push_back({"version", "", "the release", {}, "", false});
  flags.push_back({"completion",
                   "SHELL",
                   "a completion script",
                   {"bash", "zsh", "fish"},
                   "",
                   false});
  return flags;
}

// Single-quoted for all three shells.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// bash splits words at `=`, unless the user took it out of COMP_WORDBREAKS:
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

// Only names of files are quoted as such: quoting would spoil `--flag=`.
constexpr char kBashEnd[] = R"(  esac
  if [[ -n "$choices" ]]; then
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
    } else if (!flag.placeholder.empty()) {
      absl::StrAppend(&spec, ":", flag.placeholder, ":_files");
    }
    absl::StrAppend(&script, "    ", Quoted(spec), " \\\n");
  }
  // As a file in $fpath it is the function's body; else it is sourced.
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
