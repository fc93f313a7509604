#include "lib/gate/verdict_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/draw/sparkline.h"
#include "lib/draw/table.h"

namespace feedrate {
namespace {

int Rank(const std::string& verdict) {
  const char* order[] = {"slower", "cannot_tell", "invalid", "faster", "same"};
  for (int i = 0; i < 5; ++i) {
    if (verdict == order[i]) return i;
  }
  return 5;
}

std::string Words(const std::string& verdict) {
  return verdict == "cannot_tell" ? "cannot tell" : verdict;
}

std::string SureText(const Verdict& verdict) {
  return verdict.has_p_value() ? absl::StrFormat("%.1g", verdict.p_value())
                               : "";
}

std::string PairsLine(const Verdict& verdict) {
  return Sparkline(std::vector<double>(verdict.pair_percent().begin(),
                                       verdict.pair_percent().end()));
}

std::string FloorText(const Verdict& verdict) {
  return verdict.has_floor_percent()
             ? absl::StrFormat("%.1f%%", verdict.floor_percent())
             : "";
}

Table JobTable(const std::vector<Verdict>& jobs) {
  Table table(
      {"job", "verdict", "change", "99% interval", "p", "sees", "pairs", "",
       "why"},
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight,
       Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  for (const Verdict& job : jobs) {
    table.AddRow({job.job(), Words(job.verdict()), ChangeText(job),
                  IntervalText(job), SureText(job), FloorText(job),
                  absl::StrCat(job.pairs()), PairsLine(job),
                  absl::StrJoin(job.codes(), ", ")});
  }
  return table;
}

std::vector<Verdict> Only(const std::vector<Verdict>& jobs, bool same) {
  std::vector<Verdict> kept;
  for (const Verdict& job : jobs) {
    // A warning is worth a line even though nothing got slower.
    const bool is_plain = job.verdict() == "same" && job.codes().empty();
    if (is_plain == same) kept.push_back(job);
  }
  return kept;
}

std::string Details(const std::vector<Verdict>& jobs, bool markdown) {
  std::string text;
  for (const Verdict& job : jobs) {
    if (job.verdict() == "same" && job.codes().empty()) continue;
    if (markdown) {
      absl::StrAppend(&text, "- **", job.job(), "** ", Words(job.verdict()),
                      ": ", job.reason(), "\n");
      if (!job.command().empty()) {
        absl::StrAppend(&text, "  ```\n  ", job.command(), "\n  ```\n");
      }
    } else {
      absl::StrAppend(&text, job.job(), ": ", job.reason(), "\n");
      if (!job.command().empty()) {
        absl::StrAppend(&text, "  again: ", job.command(), "\n");
      }
    }
  }
  return text;
}

}  // namespace

std::string ChangeText(const Verdict& verdict) {
  if (!verdict.has_effect()) return "";
  const Effect& effect = verdict.effect();
  if (verdict.mode() == "paired") {
    return absl::StrFormat("%+.2f%%", effect.percent());
  }
  return absl::StrFormat("%.4g → %.4g", effect.a(), effect.b());
}

std::string IntervalText(const Verdict& verdict) {
  if (!verdict.has_effect() || verdict.effect().confidence() == 0) return "";
  return absl::StrFormat("%+.2f%% … %+.2f%%", verdict.effect().low_percent(),
                         verdict.effect().high_percent());
}

std::string CountsText(const VerdictCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&parts](int64_t count, const char* word) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", word));
  };
  add(counts.slower(), "slower");
  add(counts.cannot_tell(), "cannot tell");
  add(counts.invalid(), "invalid");
  add(counts.faster(), "faster");
  add(counts.same(), "same");
  return parts.empty() ? "no jobs" : absl::StrJoin(parts, ", ");
}

std::vector<Verdict> WorstFirst(std::vector<Verdict> jobs) {
  std::stable_sort(
      jobs.begin(), jobs.end(), [](const Verdict& a, const Verdict& b) {
        const int rank_a = Rank(a.verdict());
        const int rank_b = Rank(b.verdict());
        if (rank_a != rank_b) return rank_a < rank_b;
        return std::abs(a.effect().percent()) > std::abs(b.effect().percent());
      });
  return jobs;
}

std::string VerdictText(const std::vector<Verdict>& jobs, const Verdict& suite,
                        int limit) {
  const std::vector<Verdict> sorted = WorstFirst(jobs);
  std::vector<Verdict> shown = Only(sorted, false);
  const std::vector<Verdict> same = Only(sorted, true);
  const size_t most = limit == 0 ? same.size() : limit;
  for (size_t i = 0; i < std::min(most, same.size()); ++i) {
    shown.push_back(same[i]);
  }
  std::string text = shown.empty() ? "" : JobTable(shown).ToText();
  if (same.size() > most) {
    absl::StrAppend(&text, "… and ", same.size() - most,
                    " more are the same\n");
  }
  absl::StrAppend(&text, "\n", CountsText(suite.counts()), ": ", suite.reason(),
                  "\n");
  if (suite.has_level()) {
    absl::StrAppendFormat(&text,
                          "Each job is called wrongly at most once in %.0f "
                          "clean runs.\n",
                          1 / suite.level());
  }
  const std::string details = Details(sorted, false);
  if (!details.empty()) absl::StrAppend(&text, "\n", details);
  return text;
}

std::string VerdictMarkdown(const std::vector<Verdict>& jobs,
                            const Verdict& suite) {
  const std::vector<Verdict> sorted = WorstFirst(jobs);
  const std::vector<Verdict> shown = Only(sorted, false);
  const std::vector<Verdict> same = Only(sorted, true);
  const bool good = suite.exit_code() == 0;
  std::string text = absl::StrCat(
      "### ", good ? "✅" : "❌", " Performance: ", CountsText(suite.counts()),
      "\n\n", suite.reason(), suite.machine_profile().empty() ? "" : " on `",
      suite.machine_profile(), suite.machine_profile().empty() ? "" : "`",
      ".\n");
  if (!shown.empty()) {
    absl::StrAppend(&text, "\n", JobTable(shown).ToMarkdown(), "\n",
                    Details(sorted, true));
  }
  if (!same.empty()) {
    absl::StrAppend(&text, "\n<details><summary>", same.size(),
                    same.size() == 1 ? " job is" : " jobs are",
                    " the same</summary>\n\n", JobTable(same).ToMarkdown(),
                    "\n</details>\n");
  }
  return text;
}

}  // namespace feedrate
