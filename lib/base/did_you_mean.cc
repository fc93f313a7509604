#include "lib/base/did_you_mean.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace feedrate {
namespace {

// Longer lists are for `--help` or the docs, not for an error line.
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
  // Two typing errors in a short name leave nothing to recognise.
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

}  // namespace feedrate
