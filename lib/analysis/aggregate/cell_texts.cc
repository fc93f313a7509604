#include "lib/analysis/aggregate/cell_texts.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lib/analysis/aggregate/aggregate_records.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

// Two decimals, or two significant digits for small values.
std::string RatioNumber(double value) {
  if (value < 0.095 || !(value < 1e15)) return absl::StrFormat("%.2g", value);
  return absl::StrFormat("%.2f", value);
}

std::string TieText(const Aggregate& aggregate) {
  static const auto* const kEvidence =
      new std::map<std::string, Evidence>{{"tied", Evidence::kTied},
                                          {"few_runs", Evidence::kFewRuns},
                                          {"disturbed", Evidence::kDisturbed}};
  const auto found = kEvidence->find(aggregate.evidence());
  if (found == kEvidence->end()) return "";
  return absl::StrReplaceAll(
      EvidenceText(found->second, aggregate.runs_needed()),
      {{"tied;", absl::StrCat("tied with ", aggregate.rival(), ";")}});
}

// Whether the numbers are of an output that is not known to be right.
bool IsOtherWork(const Aggregate& aggregate) {
  return aggregate.has_median() &&
         WorkOfLabel(aggregate.equivalence()) == Work::kOther;
}

}  // namespace

std::string FourDigitsText(double value) {
  const double size = std::abs(value);
  if (!(size < 1e15)) return absl::StrFormat("%.3g", value);
  if (size >= 1000 || size == 0) return absl::StrFormat("%.0f", value);
  if (size >= 100) return absl::StrFormat("%.1f", value);
  if (size >= 10) return absl::StrFormat("%.2f", value);
  if (size >= 1) return absl::StrFormat("%.3f", value);
  return absl::StrFormat("%.3g", value);
}

std::string RatioText(double value) {
  return absl::StrCat(RatioNumber(value), "x");
}

std::string RatioRangeText(double low, double high) {
  return absl::StrCat(" [", RatioNumber(low), ", ", RatioNumber(high), "]");
}

Shown ShownUnit(const AggregateResult& result) {
  for (const Aggregate& aggregate : result.aggregates) {
    if (!aggregate.has_median() || aggregate.unit().empty()) continue;
    if (aggregate.metric().empty()) return {1, aggregate.unit() + "s/s"};
    if (aggregate.unit() == "bytes") return {1e6, "MB"};
    return {1, aggregate.unit()};
  }
  return {};
}

std::string InUnit(const Shown& shown) {
  if (shown.unit == "of 1") return ", as a part of 1";
  return shown.unit.empty() ? "" : absl::StrCat(" in ", shown.unit);
}

std::string Headline(const Aggregate& aggregate, const Shown& shown) {
  if (aggregate.has_median()) {
    return FourDigitsText(aggregate.median() / shown.scale);
  }
  if (aggregate.status() == "early_stopped") return aggregate.slow_marker();
  return aggregate.status() == "ok" ? "no value" : aggregate.status();
}

namespace {

std::string RangeText(double low, double high, const Shown& shown) {
  return absl::StrCat("[", FourDigitsText(low / shown.scale), ", ",
                      FourDigitsText(high / shown.scale), "]");
}

}  // namespace

std::string IntervalText(const Aggregate& aggregate, const Shown& shown) {
  if (!aggregate.has_interval()) return "";
  return RangeText(aggregate.interval().low(), aggregate.interval().high(),
                   shown);
}

std::string ElsewhereText(const Aggregate& aggregate, const Shown& shown) {
  if (!aggregate.has_elsewhere()) return "";
  return RangeText(aggregate.elsewhere().low(), aggregate.elsewhere().high(),
                   shown);
}

std::string SpeedUpText(const SpeedUp& speed_up) {
  if (!speed_up.has_ratio()) return "";
  const std::string range =
      speed_up.has_low() ? RatioRangeText(speed_up.low(), speed_up.high()) : "";
  const bool is_reference = speed_up.evidence().empty();
  return absl::StrCat(is_reference || speed_up.evidence() == "separate"
                          ? RatioText(speed_up.ratio())
                      : speed_up.evidence() == "disturbed" ? "disturbed"
                                                           : "tied",
                      range);
}

std::string NotesOf(const Aggregate& aggregate, bool several) {
  std::vector<std::string> notes;
  for (const std::string& flag : aggregate.flags()) {
    if (flag != "incomplete") notes.push_back(flag);
  }
  const std::string ended = EndedText(aggregate);
  if (!ended.empty()) notes.push_back(ended);
  if (aggregate.retries() > 0) {
    notes.push_back(absl::StrCat(
        aggregate.retries(), aggregate.retries() == 1 ? " retry" : " retries"));
  }
  for (const EarlierAttempt& earlier : aggregate.earlier_attempts()) {
    notes.push_back(absl::StrCat(
        "attempt ", earlier.attempt(), " counts, not ", earlier.last(),
        ", which was less clean",
        earlier.runs() == 1 ? ""
                            : absl::StrCat(" (", earlier.runs(), " runs)")));
  }
  const std::string tie = TieText(aggregate);
  if (!tie.empty()) notes.push_back(tie);
  const bool has_reason = !aggregate.speed_up().reason().empty();
  if (has_reason && aggregate.has_median()) {
    notes.push_back(absl::StrCat("no ratio: ", aggregate.speed_up().reason()));
  }
  if (IsOtherWork(aggregate)) {
    const bool not_ranked =
        several && aggregate.metric().empty() && aggregate.rank_of() == 0;
    notes.push_back(absl::StrCat(not_ranked ? "not ranked: " : "", "output is ",
                                 aggregate.equivalence()));
  }
  return absl::StrJoin(notes, "; ");
}

std::string RankText(const Aggregate& aggregate) {
  if (aggregate.rank_of() == 0) return "";
  if (!aggregate.has_rank()) {
    return aggregate.evidence() == "disturbed" ? "disturbed" : "tied";
  }
  // Not separated is not tied: intervals of disturbed runs may be far apart.
  const std::string why = !aggregate.tied()                     ? ""
                          : aggregate.evidence() == "disturbed" ? ", disturbed"
                          : aggregate.evidence() == "few_runs"  ? ", few runs"
                                                                : " tied";
  return absl::StrCat(aggregate.rank(), " of ", aggregate.rank_of(), why);
}

std::string DisturbedText(const Aggregate& aggregate) {
  if (aggregate.disturbed() == 0) return "";
  return absl::StrCat(aggregate.disturbed(), " of ", aggregate.runs());
}

}  // namespace feedrate
