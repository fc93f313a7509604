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
#include "lib/base/xoshiro.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/metric_verdicts.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/json.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// For the interval of the layout's deviation.
constexpr int kResamples = 2000;

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
  // Two or three pairs say next to nothing.
  const std::string range =
      effect.confidence() == 0
          ? absl::StrFormat("%d pairs, which do not bound it", verdict.pairs())
          : absl::StrFormat("99%% sure of %+.2f%% to %+.2f%%, %d pairs",
                            effect.low_percent(), effect.high_percent(),
                            verdict.pairs());
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
  Table table({"job", "verdict", "change", "99% interval", "pairs", "per pair"},
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
         !has ? verdict.reason()
         : effect.confidence() == 0
             ? ""
             : absl::StrFormat("%+.2f%% … %+.2f%%", effect.low_percent(),
                               effect.high_percent()),
         absl::StrCat(verdict.pairs()), Sparkline(changes)});
  }
  std::string text = table.empty() ? "" : table.ToText();
  for (const Verdict& verdict : result.verdicts) {
    for (const MetricChange& change : verdict.metrics()) {
      if (!HasMoved(change)) continue;
      absl::StrAppend(&text, verdict.job(), ": ", MetricChangeText(change),
                      "\n");
    }
  }
  absl::StrAppend(&text, same, " of ", result.verdicts.size(),
                  " jobs are the same\n");
  return text;
}

// The mean of the squares of half differences, which is the variance of one of
// the two values.
double VarianceOf(const std::vector<double>& differences) {
  double sum = 0;
  for (const double d : differences) sum += d * d / 2;
  return differences.empty() ? 0 : sum / differences.size();
}

std::vector<double> Resampled(const std::vector<double>& values,
                              Xoshiro256* random) {
  std::vector<double> result;
  for (size_t i = 0; i < values.size(); ++i) {
    result.push_back(values[random->Below(values.size())]);
  }
  return result;
}

// How much A's speed depends on where the linker puts its code: what two
// layouts differ by, beyond what the same layout differs by when it is linked
// and run again.
std::string LayoutText(const DuelResult& result) {
  std::map<int, double> means;
  for (const auto& layout : result.layout_logs) {
    double& mean = means[layout.first];
    for (const double log : layout.second) mean += log / layout.second.size();
  }
  std::vector<double> same;
  std::vector<double> other;
  for (const auto& a : means) {
    const auto b = means.find(a.first + 1);
    if (a.first % 2 != 0 || b == means.end()) continue;
    (HasSameLayouts(a.first / 2) ? same : other)
        .push_back(b->second - a.second);
  }
  const auto deviation = [](double variance) {
    return 100 * std::sqrt(std::max(0.0, variance));
  };
  const double percent = deviation(VarianceOf(other) - VarianceOf(same));
  Xoshiro256 random(1);
  std::vector<double> resampled;
  for (int i = 0; i < kResamples; ++i) {
    resampled.push_back(deviation(VarianceOf(Resampled(other, &random)) -
                                  VarianceOf(Resampled(same, &random))));
  }
  std::sort(resampled.begin(), resampled.end());
  const double low = resampled[kResamples / 40];
  const double high = resampled[kResamples - 1 - kResamples / 40];
  std::string text = absl::StrFormat(
      "layout alone moves A by %.2f%% (standard deviation; 95%% sure of %.2f%% "
      "to %.2f%%; %d pairs of layouts, and %d of the same layout, which differ "
      "by %.2f%%)\n",
      percent, low, high, other.size(), same.size(),
      deviation(VarianceOf(same)));
  // Two layouts differ by less than this in 95 of 100 cases.
  const double most =
      PercentOfLog(1.96 * std::sqrt(2.0) * (low > 0 ? percent : high) / 100);
  absl::StrAppendFormat(
      &text,
      low > 0 ? "a change below %.2f%% between two builds can be layout alone\n"
              : "that may be chance; layout explains no change above %.2f%%\n",
      most);
  return text;
}

}  // namespace

std::string DuelSummary(const DuelOptions& options, const DuelResult& result) {
  if (result.verdicts.empty()) return "";
  if (options.floor) return LayoutText(result);
  if (result.verdicts.size() > 1) return ManyJobs(result);
  if (result.rows.jobs().empty()) {
    return absl::StrCat("same: ", result.verdicts[0].reason(), "\n");
  }
  const PairedJob& job = result.rows.jobs()[0];
  const Verdict& verdict = result.verdicts[0];
  std::string text = absl::StrCat(SideText("A", options.a, job, false),
                                  SideText("B", options.b, job, true));
  if (options.metrics.has_time || verdict.metrics().empty()) {
    absl::StrAppend(&text, Comparison(verdict), "\n");
  }
  for (const MetricChange& change : verdict.metrics()) {
    if (options.metrics.has_time && !HasMoved(change)) continue;
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
  std::string text = absl::StrFormat("level %.2g per job: ", level);
  if (last > 0) absl::StrAppend(&text, options.looks[0], " to ");
  absl::StrAppend(&text, options.looks[last],
                  options.looks[last] == 1 ? " pair" : " pairs", " per job");
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
    const auto end = [&](double value) {
      return effect.confidence() > 0 ? number(value) : std::string();
    };
    std::vector<std::string> cells = {verdict.job(),
                                      verdict.verdict(),
                                      number(effect.a()),
                                      number(effect.b()),
                                      number(effect.percent()),
                                      end(effect.low_percent()),
                                      end(effect.high_percent()),
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
