#include "lib/gate/duel_summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/sparkline.h"
#include "lib/draw/table.h"

namespace feedrate {
namespace {

std::string SideText(const char* side, const std::string& command,
                     const PairedJob& job, bool side_b) {
  std::vector<double> seconds;
  for (const auto& pair : job.pairs) {
    const PairSide& half = side_b ? pair.second.b : pair.second.a;
    if (half.rows > 0) seconds.push_back(std::exp(half.Log()));
  }
  if (seconds.empty()) return "";
  double mean = 0;
  for (const double s : seconds) mean += s / seconds.size();
  double squares = 0;
  for (const double s : seconds) squares += (s - mean) * (s - mean);
  const double n = seconds.size();
  const double sd = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const auto range = std::minmax_element(seconds.begin(), seconds.end());
  return absl::StrFormat("%s: %s\n  mean ± σ  %s ± %s   range %s … %s   %s\n",
                         side, command, SecondsText(mean), SecondsText(sd),
                         SecondsText(*range.first), SecondsText(*range.second),
                         Sparkline(seconds));
}

std::string Comparison(const Verdict& verdict) {
  const std::string& word = verdict.verdict();
  if (!verdict.has_effect()) return absl::StrCat(word, ": ", verdict.reason());
  const Effect& effect = verdict.effect();
  const std::string range = absl::StrFormat(
      "99%% sure of %+.2f%% to %+.2f%%, %d pairs", effect.low_percent(),
      effect.high_percent(), verdict.pairs());
  if (word == "slower" || word == "faster") {
    return absl::StrFormat("B is %.2f%% %s than A (%s)",
                           std::abs(effect.percent()), word, range);
  }
  if (word == "same") {
    return absl::StrFormat("B is as fast as A, within %g%% (%s)",
                           verdict.interest_percent(), range);
  }
  std::string text =
      absl::StrFormat("cannot tell: %+.2f%% (%s)", effect.percent(), range);
  if (verdict.has_floor_percent()) {
    absl::StrAppendFormat(&text, "; less than %.1f%% cannot be seen here",
                          verdict.floor_percent());
  }
  return text;
}

std::string ManyJobs(const DuelResult& result) {
  Table table({"job", "verdict", "change", "99% interval", "pairs", ""},
              {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft,
               Align::kRight, Align::kLeft});
  int same = 0;
  for (const Verdict& verdict : result.verdicts) {
    if (verdict.verdict() == "same") {
      ++same;
      continue;
    }
    const Effect& effect = verdict.effect();
    const std::vector<double> changes(verdict.pair_percent().begin(),
                                      verdict.pair_percent().end());
    const bool has = verdict.has_effect();
    table.AddRow(
        {verdict.job(), verdict.verdict(),
         has ? absl::StrFormat("%+.2f%%", effect.percent()) : "",
         has ? absl::StrFormat("%+.2f%% … %+.2f%%", effect.low_percent(),
                               effect.high_percent())
             : verdict.reason(),
         absl::StrCat(verdict.pairs()), Sparkline(changes)});
  }
  return absl::StrCat(table.empty() ? "" : table.ToText(), same, " of ",
                      result.verdicts.size(), " jobs are the same\n");
}

}  // namespace

std::string SecondsText(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.3f s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.1f ms", seconds * 1e3);
  return absl::StrFormat("%.1f µs", seconds * 1e6);
}

std::string DuelSummary(const DuelOptions& options, const DuelResult& result) {
  if (result.verdicts.empty()) return "";
  if (result.verdicts.size() > 1) return ManyJobs(result);
  const PairedJob& job = result.rows.jobs()[0];
  return absl::StrCat(SideText("A", options.a, job, false),
                      SideText("B", options.b, job, true),
                      Comparison(result.verdicts[0]), "\n");
}

}  // namespace feedrate
