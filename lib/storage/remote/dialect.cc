#include "lib/storage/remote/dialect.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"

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

// Parses "000..099"; returns false if the text is not a range.
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

namespace {

bool IsBucketName(absl::string_view name) {
  return !name.empty() && name.size() <= 222 && absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
         });
}

// Splits "a/b/c" into "a/b/" and "c".
std::pair<absl::string_view, absl::string_view> SplitLast(
    absl::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t end = slash == absl::string_view::npos ? 0 : slash + 1;
  return {path.substr(0, end), path.substr(end)};
}

absl::Status At(absl::string_view url, absl::string_view wrong) {
  return absl::InvalidArgumentError(absl::StrCat(url, ": ", wrong));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BucketPath>> BucketPath::Parse(
    const std::string& url) {
  std::unique_ptr<BucketPath> path(new BucketPath);
  absl::string_view rest = url;
  const size_t colon = rest.find("://");
  if (colon == absl::string_view::npos) return At(url, "has no bucket");
  path->url_ = url;
  path->scheme_ = absl::AsciiStrToLower(rest.substr(0, colon));
  rest.remove_prefix(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  path->bucket_ = std::string(rest.substr(0, slash));
  if (!IsBucketName(path->bucket_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path->scheme_,
                     "://: needs the name of a bucket: letters, digits, "
                     "'-', '.' and '_'"));
  }
  rest.remove_prefix(slash);
  absl::ConsumePrefix(&rest, "/");
  const size_t list = FindBraceList(rest);
  if (list == absl::string_view::npos) {
    if (!rest.empty()) {
      path->prefix_ = absl::StrCat(absl::StripSuffix(rest, "/"), "/");
    }
  } else {
    const absl::string_view folder = SplitLast(rest.substr(0, list)).first;
    path->prefix_ = std::string(folder);
    auto names = ExpandBraceLists(rest.substr(folder.size()));
    if (!names.ok()) return At(url, names.status().message());
    path->fixed_names_ = *std::move(names);
  }
  if (!path->prefix_.empty()) {
    const absl::Status named =
        CheckObjectName(absl::StripSuffix(path->prefix_, "/"));
    if (!named.ok()) return At(url, named.message());
  }
  return path;
}

std::string BucketPath::KeyOf(absl::string_view name) const {
  if (!narrowed_) return absl::StrCat(prefix_, name);
  return absl::StrCat(SplitLast(absl::StripSuffix(prefix_, "/")).first, name);
}

std::string BucketPath::AddressOf(absl::string_view name) const {
  return absl::StrCat(scheme_, "://", bucket_, "/", KeyOf(name));
}

std::optional<std::string> BucketPath::NameOf(absl::string_view key) const {
  if (!absl::ConsumePrefix(&key, prefix_) || key.empty() ||
      absl::EndsWith(key, "/")) {
    return std::nullopt;
  }
  return std::string(key);
}

std::optional<std::string> BucketPath::NarrowToObject() {
  if (prefix_.empty() || absl::EndsWith(url_, "/") || !fixed_names_.empty()) {
    return std::nullopt;
  }
  narrowed_ = true;
  return std::string(SplitLast(absl::StripSuffix(prefix_, "/")).second);
}

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

namespace {

absl::string_view RemedyOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return "check the name";
    case absl::StatusCode::kPermissionDenied:
      return "check the permissions";
    case absl::StatusCode::kUnauthenticated:
      return "check the credentials";
    case absl::StatusCode::kFailedPrecondition:
      return "the object has changed; list it again";
    default:
      return "";
  }
}

}  // namespace

absl::StatusCode CodeOfHttpStatus(int status) {
  switch (status) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
    case 410:
      return absl::StatusCode::kNotFound;
    case 408:
      return absl::StatusCode::kDeadlineExceeded;
    case 412:
      return absl::StatusCode::kFailedPrecondition;
    case 416:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 501:
    case 505:
      return absl::StatusCode::kUnimplemented;
    default:
      return status >= 500 ? absl::StatusCode::kUnavailable
                           : absl::StatusCode::kInvalidArgument;
  }
}

absl::Status HttpError(int status, absl::StatusCode code,
                       absl::string_view reason, absl::string_view message,
                       absl::string_view remedy) {
  std::string text = absl::StrCat("HTTP ", status);
  if (!reason.empty()) absl::StrAppend(&text, " ", reason);
  if (!message.empty()) absl::StrAppend(&text, ": ", message);
  if (remedy.empty()) remedy = RemedyOf(code);
  if (!remedy.empty()) absl::StrAppend(&text, "; ", remedy);
  return absl::Status(code, text);
}

}  // namespace feedrate
