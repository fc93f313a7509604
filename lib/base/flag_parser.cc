#include "lib/base/flag_parser.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gflags/gflags.h"
#include "lib/base/did_you_mean.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using gflags::CommandLineFlagInfo;

bool IsFlag(absl::string_view arg) {
  if (arg.size() < 2 || arg[0] != '-') return false;
  // `-1` is a number for whoever takes positional arguments.
  return !absl::ascii_isdigit(arg[1]);
}

// One argument that is a flag, in gflags' spelling.
struct Flag {
  std::string name;
  absl::optional<std::string> value;
};

Flag Split(absl::string_view arg) {
  arg.remove_prefix(absl::StartsWith(arg, "--") ? 2 : 1);
  Flag flag;
  const size_t equals = arg.find('=');
  if (equals != absl::string_view::npos) {
    flag.value = std::string(arg.substr(equals + 1));
  }
  flag.name = absl::StrReplaceAll(arg.substr(0, equals), {{"-", "_"}});
  return flag;
}

std::vector<std::string> OwnFlagNames() {
  std::vector<CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> names;
  for (const CommandLineFlagInfo& flag : flags) names.push_back(flag.name);
  return names;
}

absl::Status UnknownFlag(absl::string_view arg, const std::string& name) {
  const std::string nearest = Nearest(name, OwnFlagNames());
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown flag ", arg,
      nearest.empty() ? "; --help lists the flags"
                      : absl::StrCat("; did you mean --", nearest, "?")));
}

absl::string_view TypeInWords(const std::string& type) {
  if (type == "int32" || type == "int64") return "a whole number";
  if (type == "uint32" || type == "uint64") return "a whole number from 0";
  if (type == "double") return "a number";
  if (type == "bool") return "true or false";
  return "text";
}

absl::Status Set(const CommandLineFlagInfo& info, const std::string& value) {
  if (!gflags::SetCommandLineOption(info.name.c_str(), value.c_str()).empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--", info.name, ": \"", value, "\" is not ", TypeInWords(info.type)));
}

// Finds `name`, or the boolean that `name` switches off.
bool Find(const std::string& name, CommandLineFlagInfo* info, bool* negated) {
  *negated = false;
  if (gflags::GetCommandLineFlagInfo(name.c_str(), info)) return true;
  if (!absl::StartsWith(name, "no")) return false;
  const size_t prefix = absl::StartsWith(name, "no_") ? 3 : 2;
  *negated = true;
  return gflags::GetCommandLineFlagInfo(name.substr(prefix).c_str(), info) &&
         info->type == "bool";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseFlags(
    const std::vector<std::string>& args) {
  std::vector<std::string> positional;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      positional.insert(positional.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (!IsFlag(args[i])) {
      positional.push_back(args[i]);
      continue;
    }
    Flag flag = Split(args[i]);
    CommandLineFlagInfo info;
    bool negated;
    if (!Find(flag.name, &info, &negated))
      return UnknownFlag(args[i], flag.name);
    if (info.type == "bool" && !flag.value.has_value()) {
      flag.value = negated ? "false" : "true";
    } else if (negated) {
      return absl::InvalidArgumentError(
          absl::StrCat(args[i], ": takes no value; use --", info.name, "=…"));
    }
    if (!flag.value.has_value()) {
      if (++i == args.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(args[i - 1], ": a value is missing; use --", info.name,
                         "=", TypeInWords(info.type)));
      }
      flag.value = args[i];
    }
    RETURN_IF_ERROR(Set(info, *flag.value));
  }
  return positional;
}

}  // namespace feedrate
