#include "lib/gate/duel/duel_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/metric_verdicts.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/json.h"
#include "lib/stats/paired_design.h"

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
  if (verdict.codes_size() == 1 && verdict.codes(0) == kCodeControlMoved) {
    return absl::StrCat("cannot tell: ", verdict.reason());
  }
  const std::string range = absl::StrFormat(
      "99%% sure of %+.2f%% to %+.2f%%, %d pairs", effect.low_percent(),
      effect.high_percent(), verdict.pairs());
  const bool is_about_time =
      std::count(verdict.codes().begin(), verdict.codes().end(), kCodeTime) > 0;
  if ((word == "slower" || word == "faster") && !is_about_time) {
    return absl::StrFormat("time %+.2f%% (%s)", effect.percent(), range);
  }
  if (word == "slower" || word == "faster") {
    const bool has_layout =
        !absl::StrContains(verdict.reason(), kLayoutNotExcluded);
    return absl::StrFormat("B is %.2f%% %s than A (%s)%s",
                           std::abs(effect.percent()), word, range,
                           has_layout ? "" : kLayoutNotExcluded);
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

struct LayoutDeviations {
  double layout = 0;
  double run = 0;
};

// Separates the variance between layouts from that between runs.
LayoutDeviations DeviationsOf(const DuelOptions& options,
                              const DuelResult& result) {
  double between = 0;
  double within = 0;
  double freedom = 0;
  int pairs = 0;
  std::map<int, double> means;
  for (const auto& layout : result.layout_logs) {
    const double n = layout.second.size();
    double mean = 0;
    for (const double log : layout.second) mean += log / n;
    for (const double log : layout.second) {
      within += (log - mean) * (log - mean);
    }
    freedom += n - 1;
    means[layout.first] = mean;
    // The other side of the same pair, whatever the machine did meanwhile.
    const auto other = means.find(layout.first - 1);
    if (layout.first % 2 == 0 || other == means.end()) continue;
    between += (mean - other->second) * (mean - other->second) / 2;
    ++pairs;
  }
  if (pairs == 0) return {};
  if (freedom > 0) within /= freedom;
  return {std::sqrt(std::max(
              0.0, between / pairs - within / options.runs_per_layout)),
          std::sqrt(within)};
}

// How much A's speed depends on where the linker puts its code.
std::string LayoutText(const DuelOptions& options, const DuelResult& result) {
  const LayoutDeviations deviations = DeviationsOf(options, result);
  // Two layouts differ by less than this in 95 of 100 cases.
  const double most = 1.96 * std::sqrt(2.0) * deviations.layout;
  std::string text = absl::StrFormat(
      "layout alone moves A by %.2f%% (standard deviation over %d layouts; a "
      "run scatters by %.2f%%)\n",
      100 * deviations.layout, result.layout_logs.size(), 100 * deviations.run);
  absl::StrAppendFormat(
      &text, "a change below %.2f%% between two builds can be layout alone\n",
      100 * std::expm1(most));
  if (options.runs_per_layout < 2) {
    text += "with --relink_every=1 that includes the noise of a run\n";
  }
  return text;
}

}  // namespace

std::string DuelSummary(const DuelOptions& options, const DuelResult& result) {
  if (result.verdicts.empty()) return "";
  if (options.floor) return LayoutText(options, result);
  if (result.verdicts.size() > 1) return ManyJobs(result);
  if (result.rows.jobs().empty()) {
    return absl::StrCat("same: ", result.verdicts[0].reason(), "\n");
  }
  const PairedJob& job = result.rows.jobs()[0];
  std::string text = absl::StrCat(SideText("A", options.a, job, false),
                                  SideText("B", options.b, job, true),
                                  Comparison(result.verdicts[0]), "\n");
  for (const MetricChange& change : result.verdicts[0].metrics()) {
    if (!HasMoved(change)) continue;
    absl::StrAppend(&text, MetricChangeText(change), "\n");
  }
  return text;
}

std::string DuelCost(const DuelOptions& options, int64_t jobs) {
  const double level = options.error_percent > 0
                           ? options.error_percent / 100 / jobs
                           : LevelFor(jobs);
  const PairedDesign design{options.looks, level, options.interest_percent};
  const int last = static_cast<int>(options.looks.size()) - 1;
  int first = 0;
  while (first < last && ShareOfLook(design, first) == 0) ++first;
  // The floor is proportional to the scatter.
  const double factor =
      FloorOf(1, options.looks[last], ShareOfLook(design, last));
  std::string text =
      absl::StrFormat("level %.2g per job: %d to %d pairs per job", level,
                      options.looks[0], options.looks[last]);
  if (std::isinf(factor)) {
    return absl::StrFormat("%s, too few to prove a change, which takes %d\n",
                           text, LeastPairs(level / 2));
  }
  return absl::StrFormat(
      "%s; a change takes at least %d, and one of %g%% is found 95 times in "
      "100 if pairs scatter by at most %.1f%%\n",
      text, options.looks[first], options.interest_percent,
      100 * std::log1p(options.interest_percent / 100) / factor);
}

std::string DuelExport(const DuelResult& result, const std::string& format) {
  if (format == "json") {
    std::string text = "[";
    for (const Verdict& verdict : result.verdicts) {
      if (text.size() > 1) text += ",";
      text += "\n";
      AppendRecord(verdict, &text);
      text.pop_back();
    }
    return text + "\n]\n";
  }
  const std::vector<std::string> header = {
      "job",         "verdict",      "a_s",   "b_s",   "change_percent",
      "low_percent", "high_percent", "pairs", "reason"};
  Table table(header, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
                       Align::kRight, Align::kRight, Align::kRight,
                       Align::kRight, Align::kLeft});
  std::string csv = absl::StrCat(absl::StrJoin(header, ","), "\n");
  for (const Verdict& verdict : result.verdicts) {
    const Effect& effect = verdict.effect();
    const auto number = [&verdict](double value) {
      return verdict.has_effect() ? absl::StrFormat("%.6g", value)
                                  : std::string();
    };
    std::vector<std::string> cells = {verdict.job(),
                                      verdict.verdict(),
                                      number(effect.a()),
                                      number(effect.b()),
                                      number(effect.percent()),
                                      number(effect.low_percent()),
                                      number(effect.high_percent()),
                                      absl::StrCat(verdict.pairs()),
                                      verdict.reason()};
    std::vector<std::string> fields;
    for (const std::string& cell : cells) fields.push_back(CsvField(cell));
    absl::StrAppend(&csv, absl::StrJoin(fields, ","), "\n");
    table.AddRow(std::move(cells));
  }
  return format == "csv" ? csv : table.ToMarkdown();
}

}  // namespace feedrate
