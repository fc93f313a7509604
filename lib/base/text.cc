#include "lib/base/text.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

// Longer lists belong in `--help` or the docs, not in an error message.
constexpr int kMaxListed = 24;

char Fold(char c) { return c == '-' ? '_' : absl::ascii_tolower(c); }

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  const int columns = static_cast<int>(b.size()) + 1;
  std::vector<int> before_last(columns), last(columns), row(columns);
  for (int j = 0; j < columns; ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (int j = 1; j < columns; ++j) {
      const bool same = Fold(a[i - 1]) == Fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same});
      if (i > 1 && j > 1 && Fold(a[i - 1]) == Fold(b[j - 2]) &&
          Fold(a[i - 2]) == Fold(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[columns - 1];
}

std::string Nearest(absl::string_view name,
                    const std::vector<std::string>& candidates) {
  // A short name with two typos is unrecognizable.
  int best = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  if (!nearest.empty()) {
    return absl::StrCat("; did you mean \"", nearest, "\"?");
  }
  if (candidates.empty() || candidates.size() > kMaxListed) return "";
  return absl::StrCat("; use one of ", absl::StrJoin(candidates, ", "));
}

absl::Status CheckChoice(absl::string_view flag, const std::string& value,
                         const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": \"", value, "\" is unknown", DidYouMean(value, known)));
}

namespace {

// Characters that end a URL inside a text.
constexpr absl::string_view kEnds = " \t\n\"'<>";

}  // namespace

std::string WithoutQueries(absl::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const size_t begin = std::min(text.find("http://"), text.find("https://"));
    if (begin == text.npos) break;
    absl::StrAppend(&clean, text.substr(0, begin));
    text.remove_prefix(begin);
    const absl::string_view address = text.substr(0, text.find_first_of(kEnds));
    const size_t query = address.find('?');
    absl::string_view shown = address.substr(0, query);
    const size_t host = shown.find("://") + 3;
    const size_t at = shown.substr(0, shown.find('/', host)).rfind('@');
    if (at != shown.npos) {
      absl::StrAppend(&clean, shown.substr(0, host));
      shown.remove_prefix(at + 1);
    }
    absl::StrAppend(&clean, shown, query == address.npos ? "" : "?...");
    text.remove_prefix(address.size());
  }
  return absl::StrCat(clean, text);
}

namespace {

constexpr absl::string_view kSynthetic = "synthetic:";

absl::StatusOr<std::string> SyntheticId(absl::string_view spec) {
  std::vector<std::string> parts =
      absl::StrSplit(spec, ',', absl::SkipWhitespace());
  if (parts.empty() || absl::StrContains(parts[0], '=')) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", kSynthetic, spec,
                     "\" names no kind; write synthetic:rgb,n=100,seed=1"));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == parts[i].size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", parts[i],
                       "\" is no parameter; write synthetic:rgb,n=100,seed=1"));
    }
  }
  std::sort(parts.begin() + 1, parts.end());
  return absl::StrCat(kSynthetic, absl::StrJoin(parts, ","));
}

}  // namespace

absl::StatusOr<std::string> DatasetId(absl::string_view dataset) {
  if (absl::StartsWith(dataset, kSynthetic)) {
    return SyntheticId(absl::StripPrefix(dataset, kSynthetic));
  }
  // Neither the signature nor the server in a URL is part of the data set's
  // name.
  if (absl::StartsWith(dataset, "http://") ||
      absl::StartsWith(dataset, "https://")) {
    dataset = dataset.substr(0, dataset.find('?'));
  }
  while (absl::ConsumeSuffix(&dataset, "/")) {
  }
  std::string name = BaseName(dataset);
  for (absl::string_view ending :
       {".gz", ".zst", ".tar", ".tgz", ".tfrecord", ".zip"}) {
    name = std::string(absl::StripSuffix(name, ending));
  }
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", dataset, "\" has no name to put into job ids; set data.id"));
  }
  return name;
}

bool IsRemoteDataset(absl::string_view dataset) {
  for (const absl::string_view scheme :
       {"s3://", "gs://", "http://", "https://", "file://"}) {
    if (absl::StartsWith(dataset, scheme)) return true;
  }
  return false;
}

namespace {

// Removes the unit from the end of `text` and returns its power of two.
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
