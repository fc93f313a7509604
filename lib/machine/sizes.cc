#include "lib/machine/sizes.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Takes the unit off the end of `text` and returns how many bits it shifts by.
int ConsumeUnit(absl::string_view* text) {
  absl::ConsumeSuffix(text, "B");
  if (absl::ConsumeSuffix(text, "K") || absl::ConsumeSuffix(text, "k")) {
    return 10;
  }
  if (absl::ConsumeSuffix(text, "M")) return 20;
  if (absl::ConsumeSuffix(text, "G")) return 30;
  return 0;
}

}  // namespace

std::optional<int64_t> ParseSize(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const int shift = ConsumeUnit(&text);
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < 0) return std::nullopt;
  if (value > std::numeric_limits<int64_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

absl::StatusOr<int64_t> SizeOfFlag(absl::string_view flag,
                                   absl::string_view text, int64_t least) {
  const std::optional<int64_t> bytes = ParseSize(text);
  if (!bytes.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": \"", text, "\" is no size; write it as 500M or 2G"));
  }
  if (*bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", text, " is too small; use at least ", least,
                     " bytes, such as 500M"));
  }
  return *bytes;
}

}  // namespace feedrate
