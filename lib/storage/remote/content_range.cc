#include "lib/storage/remote/content_range.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

bool ParseCount(absl::string_view text, int64_t* count) {
  return absl::SimpleAtoi(text, count) && *count >= 0;
}

}  // namespace

std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "bytes ")) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  ContentRange range;
  if (parts.second != "*" && !ParseCount(parts.second, &range.total)) {
    return std::nullopt;
  }
  if (parts.first == "*") return range;
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(parts.first, absl::MaxSplits('-', 1));
  if (!ParseCount(ends.first, &range.first) ||
      !ParseCount(ends.second, &range.last) || range.last < range.first) {
    return std::nullopt;
  }
  return range;
}

}  // namespace feedrate
