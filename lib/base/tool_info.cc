#include "lib/base/tool_info.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"

namespace feedrate {
namespace {

constexpr char kSharedFile[] = "lib/base/override_flags.cc";

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

std::vector<std::string> Choices(absl::string_view description) {
  const size_t open = description.find('{');
  const size_t close = description.find('}', open);
  if (open == absl::string_view::npos || close == absl::string_view::npos) {
    return {};
  }
  return absl::StrSplit(description.substr(open + 1, close - open - 1), '|');
}

ShownFlag Describe(const gflags::CommandLineFlagInfo& flag) {
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
  shown.choices = Choices(shown.description);
  shown.default_value = flag.default_value;
  shown.shared = absl::EndsWith(flag.filename, kSharedFile);
  return shown;
}

}  // namespace

std::vector<ShownFlag> FlagsOf(const ToolInfo& info, bool all) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<ShownFlag> shown;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (all || BelongsTo(info, flag.filename)) shown.push_back(Describe(flag));
  }
  std::sort(
      shown.begin(), shown.end(),
      [](const ShownFlag& a, const ShownFlag& b) { return a.name < b.name; });
  return shown;
}

}  // namespace feedrate
