#include "lib/config/field_checker.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

// As people write it: all digits of a whole number, and never 1e+06.
std::string NumberText(double value) {
  constexpr double kInt64Limit = 0x1p63;
  if (std::trunc(value) == value && value >= -kInt64Limit &&
      value < kInt64Limit) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

}  // namespace

absl::Status FieldChecker::Unknown(
    absl::string_view path, absl::string_view value,
    const std::vector<std::string>& known) const {
  return Error(path, absl::StrCat("\"", value, "\" is unknown",
                                  DidYouMean(value, known)));
}

absl::Status FieldChecker::Missing(
    absl::string_view path, const std::vector<std::string>& known) const {
  return Error(path, absl::StrCat("is missing", DidYouMean("", known)));
}

absl::Status FieldChecker::OneOf(absl::string_view path,
                                 absl::string_view value,
                                 const std::vector<std::string>& known) const {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  return value.empty() ? Missing(path, known) : Unknown(path, value, known);
}

absl::Status FieldChecker::AtLeast(absl::string_view path, double value,
                                   double least) const {
  if (std::isfinite(value) && value >= least) return absl::OkStatus();
  return Error(
      path, absl::StrCat(NumberText(value), " is not possible; use at least ",
                         NumberText(least)));
}

absl::Status FieldChecker::AtMost(absl::string_view path, double value,
                                  double most) const {
  if (value <= most) return absl::OkStatus();
  return Error(path,
               absl::StrCat(NumberText(value), " is not possible; use at most ",
                            NumberText(most)));
}

absl::Status FieldChecker::Above(absl::string_view path, double value,
                                 double bound) const {
  if (std::isfinite(value) && value > bound) return absl::OkStatus();
  return Error(path, absl::StrCat(NumberText(value),
                                  " is not possible; use a number above ",
                                  NumberText(bound)));
}

absl::Status FieldChecker::DistinctNames(
    absl::string_view path, const std::vector<std::string>& names) const {
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (seen.insert(names[i]).second) continue;
    return Error(absl::StrCat(path, "[", i, "]"),
                 absl::StrCat("\"", names[i], "\" is listed twice"));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
