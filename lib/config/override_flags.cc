#include "lib/config/override_flags.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"

namespace feedrate {
namespace {

constexpr char kSubjectFlag[] = "subject";

// All values of --subject: gflags itself keeps only the last one, but shows
// every one to the validator.
std::vector<std::string>& Subjects() {
  static auto* const subjects = new std::vector<std::string>;
  return *subjects;
}

bool AddSubjects(const char* /*flag*/, const std::string& value) {
  for (const absl::string_view name :
       absl::StrSplit(value, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    if (!absl::c_linear_search(Subjects(), name)) Subjects().emplace_back(name);
  }
  return true;
}

template <typename T>
T* Register(const OverrideFlag& flag) {
  T* const value = new T();
  gflags::FlagRegisterer(flag.name, flag.help, kOverrideFlagsFile, value,
                         new T());
  return value;
}

void RegisterAll() {
  for (const OverrideFlag& flag : OverrideFlags()) {
    if (flag.help == nullptr) continue;
    if (flag.type == FlagType::kInt32) Register<int32_t>(flag);
    if (flag.type == FlagType::kInt64) Register<int64_t>(flag);
    if (flag.type == FlagType::kDouble) Register<double>(flag);
    if (flag.type != FlagType::kText) continue;
    const std::string* const value = Register<std::string>(flag);
    if (flag.name == absl::string_view(kSubjectFlag)) {
      gflags::RegisterFlagValidator(value, &AddSubjects);
    }
  }
}

FileFlags flags(kOverrideFlagsFile, RegisterAll);

}  // namespace

Overrides OverridesFromFlags() {
  Overrides set;
  for (const OverrideFlag& flag : OverrideFlags()) {
    gflags::CommandLineFlagInfo info;
    if (!gflags::GetCommandLineFlagInfo(flag.name, &info) || info.is_default) {
      continue;
    }
    set.Set(flag.name, flag.name == absl::string_view(kSubjectFlag)
                           ? absl::StrJoin(Subjects(), ",")
                           : info.current_value);
  }
  return set;
}

}  // namespace feedrate
