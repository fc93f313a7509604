#include "lib/gate/job_words.h"

#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace feedrate {

std::string JobWords(const Row& row) {
  std::vector<std::string> words;
  const auto add = [&words](const std::string& word) {
    if (!word.empty()) words.push_back(word);
  };
  if (row.mode() == "command") {
    const auto name = row.settings().find("name");
    if (name != row.settings().end()) return name->second;
  }
  if (row.mode() != "micro") add(row.mode());
  add(row.library());
  add(row.transform());
  if (row.device() != "cpu") add(row.device());
  if (row.batch_size() > 1) {
    add(absl::StrCat("batch_size=", row.batch_size()));
  }
  if (row.workers() > 0) add(absl::StrCat("workers=", row.workers()));
  const std::map<std::string, std::string> settings(row.settings().begin(),
                                                    row.settings().end());
  for (const auto& setting : settings) {
    add(absl::StrCat(setting.first, "=", setting.second));
  }
  return words.empty() ? row.job_id() : absl::StrJoin(words, " ");
}

bool GlobMatches(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsWantedJob(absl::string_view wanted, absl::string_view job_id,
                 absl::string_view words) {
  if (wanted.empty() || wanted == job_id) return true;
  if (wanted.size() >= 4 && absl::StartsWith(job_id, wanted)) return true;
  return GlobMatches(wanted, words);
}

}  // namespace feedrate
