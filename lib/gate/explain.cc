#include "lib/gate/explain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/table.h"
#include "lib/gate/duel_summary.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/sign_flip.h"

namespace feedrate {
namespace {

double Percent(double log) { return 100 * std::expm1(log); }

std::string PairsText(const PairedJob& job) {
  Table table({"pair", "stage", "first", "A", "B", "change"},
              {Align::kRight, Align::kRight, Align::kLeft, Align::kRight,
               Align::kRight, Align::kRight});
  for (const auto& entry : job.pairs) {
    const RunPair& pair = entry.second;
    const bool whole = pair.IsWhole();
    table.AddRow({absl::StrCat(entry.first), absl::StrCat(pair.stage),
                  pair.a.rows > 0 && pair.a.position == 0 ? "A" : "B",
                  pair.a.rows > 0 ? SecondsText(std::exp(pair.a.Log())) : "–",
                  pair.b.rows > 0 ? SecondsText(std::exp(pair.b.Log())) : "–",
                  whole ? absl::StrFormat("%+.2f%%",
                                          Percent(pair.b.Log() - pair.a.Log()))
                        : "not whole"});
  }
  return table.ToText();
}

std::string LookText(const std::vector<double>& differences,
                     const PairedDesign& design, int number) {
  const PairedLook look = LookAt(differences, design, number, true);
  const double share = ShareOfLook(design, number);
  std::string text =
      absl::StrFormat("Look %d, after %d pairs: estimate %+.3f%%", number + 1,
                      differences.size(), Percent(look.estimate));
  if (look.interval) {
    absl::StrAppendFormat(&text, ", 99%% interval %+.3f%% to %+.3f%%",
                          Percent(look.interval->low),
                          Percent(look.interval->high));
  }
  absl::StrAppendFormat(&text, ", spread of pairs %.2f%%.\n",
                        100 * look.spread);
  if (share > 0) {
    absl::StrAppendFormat(
        &text,
        "  Sign-flip test: of all 2^%d ways to swap A and B in these pairs a "
        "share of %.2g is as far out on this side; the look may spend %.2g.\n",
        differences.size(), look.p_value / 2, share);
  } else {
    absl::StrAppendFormat(
        &text,
        "  So few pairs cannot prove a change: not even equal signs "
        "throughout (a share of %.2g) would be enough. It can only clear.\n",
        SmallestSignFlipPValue(static_cast<int>(differences.size())));
  }
  absl::StrAppendFormat(&text, "  -> %s%s\n", PairedVerdictName(look.verdict),
                        look.is_small_change
                            ? " (proved, but less than half of what is of "
                              "interest)"
                            : "");
  return text;
}

}  // namespace

std::string ExplainPairs(const PairedJob& job, const PairedRows& rows,
                         const PairedOptions& options, const Verdict& verdict) {
  std::string text =
      absl::StrCat(job.words, " (", job.job_id, ") on ", job.machine_profile,
                   "\n\n", PairsText(job), "\n");
  const std::vector<double> differences = job.Differences();
  const PairedDesign design = DesignOf(rows, options);
  absl::StrAppendFormat(
      &text,
      "Level: the smaller of 2e-5 and 0.01 / %d jobs, %.2g for this job in "
      "either direction and over all looks.\n",
      JudgedJobs(rows), design.level);
  const auto floor = options.floor_percent.find(job.job_id);
  if (floor != options.floor_percent.end()) {
    absl::StrAppendFormat(&text,
                          "Calibration: the smallest change seen here is "
                          "%.1f%%; less is not judged.\n",
                          floor->second);
  }
  absl::StrAppendFormat(
      &text,
      "Rule: slower or faster when the test is at most the look's share and "
      "the estimate at least %g%%; same when the interval is within ±%g%%; "
      "else go on, and after the last look cannot tell.\n\n",
      design.interest_percent / 2, design.interest_percent);
  for (int i = 0; i < static_cast<int>(design.looks.size()); ++i) {
    const bool is_last = job.LastStage() == i;
    const size_t count =
        is_last ? differences.size()
                : std::min<size_t>(design.looks[i], differences.size());
    if (count == 0) break;
    text +=
        LookText({differences.begin(), differences.begin() + count}, design, i);
    if (is_last) break;
  }
  absl::StrAppend(&text, "\nVerdict: ", verdict.verdict(), ": ",
                  verdict.reason(), "\n");
  if (!verdict.command().empty()) {
    absl::StrAppend(&text, "Again: ", verdict.command(), "\n");
  }
  return text;
}

std::string ExplainRules(const Verdict& verdict) {
  Table table({"metric", "baseline", "now", "worse by", "allowed", "result"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft});
  for (const RuleCheck& check : verdict.checks()) {
    const std::string unit = check.unit() == "%" ? "%" : "";
    table.AddRow(
        {check.metric(),
         check.has_baseline() ? absl::StrFormat("%g", check.baseline()) : "–",
         check.has_current() ? absl::StrFormat("%g", check.current()) : "–",
         check.has_worse_by()
             ? absl::StrFormat("%.4g%s", check.worse_by(), unit)
             : "–",
         absl::StrFormat("%g%s", check.allowed(), unit), check.result()});
  }
  std::string text =
      absl::StrCat(verdict.job(), " on ", verdict.machine_profile(), "\n\n",
                   table.ToText(), "\n");
  if (verdict.has_floor_percent()) {
    absl::StrAppendFormat(&text,
                          "Calibration: the smallest change seen here is "
                          "%.1f%%; breaches below it are not judged.\n",
                          verdict.floor_percent());
  }
  return absl::StrCat(text, "Verdict: ", verdict.verdict(), ": ",
                      verdict.reason(), "\n");
}

}  // namespace feedrate
