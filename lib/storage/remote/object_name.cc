#include "lib/storage/remote/object_name.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace feedrate {
namespace {

constexpr size_t kMaxBytes = 1024;

std::string WhatIsWrong(absl::string_view name) {
  if (name.empty()) return "is empty";
  if (absl::StartsWith(name, "/")) return "begins with a slash";
  if (name.size() > kMaxBytes) return "has more than 1024 bytes";
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return absl::ascii_iscntrl(c); })) {
    return "holds a control character";
  }
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part == "." || part == "..") {
      return absl::StrCat("has a part '", part, "'");
    }
  }
  return "";
}

}  // namespace

absl::Status CheckObjectName(absl::string_view name) {
  const std::string wrong = WhatIsWrong(name);
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the object name \"", absl::Utf8SafeCHexEscape(name.substr(0, kMaxBytes)),
      "\" ", wrong, "; rename the object"));
}

}  // namespace feedrate
