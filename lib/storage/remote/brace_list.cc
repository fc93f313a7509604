#include "lib/storage/remote/brace_list.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

constexpr size_t kMaxNames = 1000000;
constexpr size_t kMaxDigits = 9;

struct Range {
  int64_t first = 0;
  int64_t last = 0;
  int width = 0;
};

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// "000..099"; false where the text is no range.
bool ParseRange(absl::string_view text, Range* range) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, "..");
  if (ends.size() != 2 || !IsNumber(ends[0]) || !IsNumber(ends[1]) ||
      !absl::SimpleAtoi(ends[0], &range->first) ||
      !absl::SimpleAtoi(ends[1], &range->last)) {
    return false;
  }
  const bool padded = (ends[0].size() > 1 && ends[0][0] == '0') ||
                      (ends[1].size() > 1 && ends[1][0] == '0');
  range->width =
      padded ? static_cast<int>(std::max(ends[0].size(), ends[1].size())) : 0;
  return true;
}

bool IsList(absl::string_view inside) {
  Range range;
  return ParseRange(inside, &range) || absl::StrContains(inside, ',');
}

absl::StatusOr<std::vector<std::string>> Choices(absl::string_view inside) {
  Range range;
  if (!ParseRange(inside, &range)) {
    return std::vector<std::string>(absl::StrSplit(inside, ','));
  }
  if (range.first > range.last) {
    return absl::InvalidArgumentError(
        absl::StrCat("{", inside,
                     "} runs backwards; write the smaller number "
                     "first"));
  }
  if (static_cast<size_t>(range.last - range.first) >= kMaxNames) {
    return absl::InvalidArgumentError(
        absl::StrCat("{", inside, "} stands for more than a million names"));
  }
  std::vector<std::string> numbers;
  for (int64_t i = range.first; i <= range.last; ++i) {
    numbers.push_back(absl::StrFormat("%0*d", range.width, i));
  }
  return numbers;
}

absl::Status CheckNoneTwice(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the list names ", *twice, " twice"));
}

}  // namespace

size_t FindBraceList(absl::string_view text) {
  for (size_t open = text.find('{'); open != absl::string_view::npos;
       open = text.find('{', open + 1)) {
    const size_t close = text.find('}', open);
    if (close == absl::string_view::npos) break;
    if (IsList(text.substr(open + 1, close - open - 1))) return open;
  }
  return absl::string_view::npos;
}

absl::StatusOr<std::vector<std::string>> ExpandBraceLists(
    absl::string_view text) {
  std::vector<std::string> names = {""};
  for (;;) {
    const size_t open = FindBraceList(text);
    const absl::string_view before = text.substr(0, open);
    for (std::string& name : names) absl::StrAppend(&name, before);
    if (open == absl::string_view::npos) break;
    const size_t close = text.find('}', open);
    ASSIGN_OR_RETURN(const std::vector<std::string> choices,
                     Choices(text.substr(open + 1, close - open - 1)));
    if (names.size() * choices.size() > kMaxNames) {
      return absl::InvalidArgumentError(
          "the lists stand for more than a million names");
    }
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& choice : choices) {
        longer.push_back(absl::StrCat(name, choice));
      }
    }
    names = std::move(longer);
    text.remove_prefix(close + 1);
  }
  RETURN_IF_ERROR(CheckNoneTwice(names));
  return names;
}

}  // namespace feedrate
