#include "lib/machine/sizes.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
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

}  // namespace feedrate
