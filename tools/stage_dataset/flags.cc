#include "tools/stage_dataset/flags.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string_view>

#include "lib/tar/header.h"
#include "lib/url/secrets.h"

namespace feedrate {
namespace {

using tar::CallersMistake;
using tar::Status;

// What a flag does with its value; a boolean flag gets "true" or "false".
struct Flag {
  const char* name;
  bool is_switch;
  const char* text;
  Status (*set)(const std::string& value, Flags* flags);
};

Status ParseInteger(const char* flag, const std::string& value, int64_t low,
                    int64_t high, int64_t* number) {
  if (tar::ParseDecimal(value, number) && *number >= low && *number <= high) {
    return Status();
  }
  return CallersMistake(std::string(flag) + "=" + value +
                        ": want a whole number from " + std::to_string(low) +
                        (high == std::numeric_limits<int64_t>::max()
                             ? " up"
                             : " to " + std::to_string(high)));
}

Status SetSha256(const std::string& value, Flags* flags) {
  std::string digest = value;
  for (char& c : digest) c = c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c;
  if (!tar::IsSha256(digest) && digest != "compute") {
    return CallersMistake("--sha256=" + value +
                          ": want 64 hexadecimal digits, or \"compute\"");
  }
  flags->options.sha256 = digest;
  return Status();
}

Status SetBytes(const char* flag, const std::string& value, int64_t* number) {
  return ParseInteger(flag, value, 0, std::numeric_limits<int64_t>::max(),
                      number);
}

const Flag kFlags[] = {
    {"source", false, "tar, address or folder to stage",
     [](const std::string& value, Flags* flags) {
       flags->options.source = value;
       return Status();
     }},
    {"dest", false, "folder to write to",
     [](const std::string& value, Flags* flags) {
       flags->options.dest = value;
       return Status();
     }},
    {"expected-bytes", false, "size of the source",
     [](const std::string& value, Flags* flags) {
       int64_t number = 0;
       TAR_RETURN_IF_ERROR(SetBytes("--expected-bytes", value, &number));
       flags->options.expected_bytes = number;
       return Status();
     }},
    {"sha256", false, "checksum of the source", &SetSha256},
    {"strip-components", false, "number of leading parts to remove from names",
     [](const std::string& value, Flags* flags) {
       int64_t number = 0;
       TAR_RETURN_IF_ERROR(
           ParseInteger("--strip-components", value, 0, 1000, &number));
       flags->options.strip_components = static_cast<int>(number);
       return Status();
     }},
    {"threads", false, "writer threads",
     [](const std::string& value, Flags* flags) {
       int64_t number = 0;
       TAR_RETURN_IF_ERROR(ParseInteger("--threads", value, 1, 64, &number));
       flags->options.threads = static_cast<int>(number);
       return Status();
     }},
    {"timeout", false, "seconds to wait for a server that sends nothing",
     [](const std::string& value, Flags* flags) {
       int64_t number = 0;
       TAR_RETURN_IF_ERROR(
           ParseInteger("--timeout", value, 0, 1000000, &number));
       flags->options.timeout_s = static_cast<int>(number);
       return Status();
     }},
    {"max-bytes", false, "maximum amount of data to unpack",
     [](const std::string& value, Flags* flags) {
       int64_t number = 0;
       TAR_RETURN_IF_ERROR(SetBytes("--max-bytes", value, &number));
       flags->options.max_bytes = number;
       return Status();
     }},
    {"no-sync", true, "do not wait for the disk",
     [](const std::string& value, Flags* flags) {
       flags->options.sync = value == "false";
       return Status();
     }},
    {"force", true, "stage again even if already staged",
     [](const std::string& value, Flags* flags) {
       flags->options.force = value == "true";
       return Status();
     }},
    {"index", true, "then make an index of JPEG files",
     [](const std::string& value, Flags* flags) {
       flags->index = value == "true";
       return Status();
     }},
    {"format", false, "text, or jsonl for one record on stdout",
     [](const std::string& value, Flags* flags) {
       flags->json = value == "jsonl";
       if (flags->json || value == "text") return Status();
       return CallersMistake("--format=" + value + ": want text or jsonl");
     }},
    {"help", true, "print help",
     [](const std::string& value, Flags* flags) {
       flags->help = value == "true";
       return Status();
     }},
    {"version", true, "print the version",
     [](const std::string& value, Flags* flags) {
       flags->version = value == "true";
       return Status();
     }},
    {"completion", false, "print a completion script",
     [](const std::string& value, Flags* flags) {
       flags->completion = value;
       return Status();
     }},
};

// Edit distance: the number of letters to change, add or remove.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

Status Unknown(const std::string& argument, const std::string& name) {
  const Flag* nearest = std::min_element(
      std::begin(kFlags), std::end(kFlags), [&](const Flag& a, const Flag& b) {
        return Distance(name, a.name) < Distance(name, b.name);
      });
  // The value may be a URL with a password.
  std::string message =
      argument.substr(0, argument.find('=')) + ": unknown flag";
  if (Distance(name, nearest->name) <= 1 + name.size() / 3) {
    message += std::string("; did you mean --") + nearest->name + "?";
  } else {
    message += "; see --help";
  }
  return CallersMistake(message);
}

}  // namespace

std::vector<FlagInfo> FlagList() {
  std::vector<FlagInfo> list;
  for (const Flag& flag : kFlags) {
    list.push_back({flag.name, !flag.is_switch, flag.text});
  }
  return list;
}

Status ParseFlags(const std::vector<std::string>& arguments, Flags* flags) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-h") {
      flags->help = true;
      continue;
    }
    if (argument.size() < 3 || argument.compare(0, 2, "--") != 0) {
      return CallersMistake(
          ShownUrl(argument) +
          ": not a flag; did you mean --source=" + ShownUrl(argument) + "?");
    }
    const size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals - 2);
    std::replace(name.begin(), name.end(), '_', '-');
    const Flag* flag =
        std::find_if(std::begin(kFlags), std::end(kFlags),
                     [&](const Flag& known) { return name == known.name; });
    if (flag == std::end(kFlags)) return Unknown(argument, name);
    std::string value = "true";
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (!flag->is_switch) {
      if (++i == arguments.size()) {
        return CallersMistake(argument + ": needs a value");
      }
      value = arguments[i];
    }
    if (flag->is_switch && value != "true" && value != "false") {
      return CallersMistake(argument + ": want true or false");
    }
    TAR_RETURN_IF_ERROR(flag->set(value, flags));
  }
  if (flags->help || flags->version || !flags->completion.empty()) {
    return Status();
  }
  for (const auto& [name, value] :
       {std::pair("--source", &flags->options.source),
        std::pair("--dest", &flags->options.dest)}) {
    if (value->empty()) {
      return CallersMistake(std::string(name) + " is missing; see --help");
    }
  }
  return Status();
}

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
