#include "tools/stage_dataset/completion.h"

#include "tools/stage_dataset/flags.h"

namespace feedrate {
namespace {

constexpr char kShells[] = "bash zsh fish";

std::string Bash() {
  std::string names;
  for (const FlagInfo& flag : FlagList()) {
    names += std::string(" --") + flag.name + (flag.takes_value ? "=" : "");
  }
  // bash splits words at "=".
  return "# Load it with: source <(stage_dataset --completion=bash)\n"
         "_feedrate_stage_dataset() {\n"
         "  local word=\"${COMP_WORDS[COMP_CWORD]#=}\"\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names.substr(1) +
         "' -- \"$word\"))\n"
         "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
         "  elif [[ ${COMP_WORDS[*]:COMP_CWORD-2:2} == *--completion* ]]; "
         "then\n"
         "    COMPREPLY=($(compgen -W '" +
         kShells +
         "' -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _feedrate_stage_dataset stage_dataset\n";
}

std::string Zsh() {
  std::string script = "#compdef stage_dataset\n_arguments";
  for (const FlagInfo& flag : FlagList()) {
    script += std::string(" \\\n  '--") + flag.name +
              (flag.takes_value ? "=" : "") + "[" + flag.text + "]" +
              (flag.takes_value ? ":value:_files'" : "'");
  }
  return script + "\n";
}

std::string Fish() {
  std::string script;
  for (const FlagInfo& flag : FlagList()) {
    script += std::string("complete -c stage_dataset -l ") + flag.name +
              (flag.takes_value ? " -r" : "") + " -d '" + flag.text + "'\n";
  }
  return script;
}

}  // namespace

tar::Status CompletionScript(const std::string& shell, std::string* script) {
  if (shell == "bash") {
    *script = Bash();
  } else if (shell == "zsh") {
    *script = Zsh();
  } else if (shell == "fish") {
    *script = Fish();
  } else {
    return tar::CallersMistake("--completion=" + shell + ": want one of " +
                               kShells);
  }
  return tar::Status();
}

}  // namespace feedrate
