#include "lib/gate/verdict/metric_verdicts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// With less, 20 pairs could not prove a slowdown in a suite of 500, so that
// each slow job would take 30.
constexpr double kTimeShare = 0.96;

// The chance that a metric which takes two values at random has one in all of
// A's runs and the other in all of B's. More values make it smaller.
double ConstantChance(int pairs) { return 2 * std::pow(0.25, pairs); }

// Whether constant values of so many pairs can prove a change, and what that
// costs: at most half of the level.
bool CanBeConstant(int pairs, const PairedDesign& design) {
  return ConstantChance(pairs) <= design.level / 2;
}

double SpentOnConstants(const PairedDesign& design) {
  for (const int pairs : design.looks) {
    if (CanBeConstant(pairs, design)) return ConstantChance(pairs);
  }
  return 0;
}

PairedLook LookAtConstants(double estimate, int pairs, bool both_orders,
                           const PairedDesign& design) {
  PairedLook look;
  look.estimate = estimate;
  look.interval = Interval{estimate, estimate};
  const double interest = std::log1p(design.interest_percent / 100);
  const bool is_proved =
      estimate != 0 && both_orders && CanBeConstant(pairs, design);
  if (is_proved) look.p_value = ConstantChance(pairs);
  if (std::abs(estimate) < interest / 2) {
    look.is_small_change = is_proved;
    look.verdict = PairedVerdict::kSame;
  } else if (is_proved) {
    look.verdict =
        estimate > 0 ? PairedVerdict::kSlower : PairedVerdict::kFaster;
  }
  return look;
}

double GeometricMean(const std::vector<double>& logs) {
  double sum = 0;
  for (const double log : logs) sum += log;
  return std::exp(sum / static_cast<double>(logs.size()));
}

}  // namespace

JointLevels LevelsFor(int64_t jobs, int64_t metrics, bool has_time,
                      absl::optional<double> error) {
  const double of_job =
      error.value_or(0.01) / static_cast<double>(std::max<int64_t>(1, jobs));
  const double most = error.has_value() ? 1 : LevelFor(1);
  JointLevels levels;
  levels.time = std::min(most, of_job * (metrics > 0 ? kTimeShare : 1));
  const double rest = has_time ? of_job - levels.time : of_job;
  levels.metric =
      std::min(most, rest / static_cast<double>(std::max<int64_t>(1, metrics)));
  return levels;
}

int64_t JudgedMetrics(const PairedRows& rows) {
  int64_t judged = 0;
  for (size_t i = 0; i < rows.choice().metrics.size(); ++i) {
    for (const PairedJob& job : rows.jobs()) {
      if (job.MetricPairs(i).empty()) continue;
      ++judged;
      break;
    }
  }
  return judged;
}

MetricLook LookAtMetric(absl::Span<const MetricPair> pairs, double least,
                        const PairedDesign& design, int look,
                        bool exact_p_value) {
  MetricLook result;
  std::vector<double> differences;
  result.constant = true;
  bool a_was_first = false;
  bool b_was_first = false;
  for (const MetricPair& pair : pairs) {
    result.constant &= pair.a == pairs[0].a && pair.b == pairs[0].b;
    (pair.a_first ? a_was_first : b_was_first) = true;
    differences.push_back(
        std::log(std::max(pair.b, least) / std::max(pair.a, least)));
  }
  if (result.constant) {
    result.look =
        LookAtConstants(differences[0], static_cast<int>(pairs.size()),
                        a_was_first && b_was_first, design);
    return result;
  }
  PairedDesign others = design;
  others.level -= SpentOnConstants(design);
  result.look = LookAt(differences, others, look, exact_p_value);
  return result;
}

MetricChange JudgeMetric(absl::Span<const MetricPair> pairs,
                         const GateMetric& metric, PairedDesign design,
                         int look) {
  design.interest_percent = metric.interest_percent;
  const MetricLook judged =
      LookAtMetric(pairs, metric.least, design, look, true);
  MetricChange change;
  change.set_metric(metric.name);
  change.set_unit(metric.unit);
  change.set_better(metric.higher_is_better ? "higher" : "lower");
  change.set_interest_percent(metric.interest_percent);
  change.set_level(design.level);
  change.set_p_value(judged.look.p_value);
  change.set_pairs(static_cast<int64_t>(pairs.size()));
  change.set_constant(judged.constant);
  std::vector<double> a;
  std::vector<double> b;
  for (const MetricPair& pair : pairs) {
    a.push_back(std::log(std::max(pair.a, metric.least)));
    b.push_back(std::log(std::max(pair.b, metric.least)));
  }
  Effect* effect = change.mutable_effect();
  effect->set_a(judged.constant ? pairs[0].a : GeometricMean(a));
  effect->set_b(judged.constant ? pairs[0].b : GeometricMean(b));
  effect->set_percent(PercentOfLog(judged.look.estimate));
  const Interval interval = judged.look.interval.value_or(
      Interval{judged.look.estimate, judged.look.estimate});
  effect->set_low_percent(PercentOfLog(interval.low));
  effect->set_high_percent(PercentOfLog(interval.high));
  effect->set_confidence(judged.look.interval ? kConfidence : 0);
  if (std::isfinite(judged.look.floor) && judged.look.spread > 0) {
    change.set_floor_percent(
        std::max(PercentOfLog(judged.look.floor), metric.interest_percent / 2));
  }
  const PairedVerdict worse =
      metric.higher_is_better ? PairedVerdict::kFaster : PairedVerdict::kSlower;
  const PairedVerdict verdict = judged.look.verdict;
  if (verdict == PairedVerdict::kSame) {
    change.set_verdict("same");
  } else if (verdict == PairedVerdict::kCannotTell) {
    change.set_verdict("cannot_tell");
  } else {
    change.set_verdict(verdict == worse ? "worse" : "better");
  }
  std::string range = absl::StrFormat("%+.2f%%", effect->percent());
  if (effect->confidence() > 0) {
    absl::StrAppendFormat(&range, " [%+.2f%%, %+.2f%%]", effect->low_percent(),
                          effect->high_percent());
  }
  if (judged.constant) {
    change.set_reason(
        effect->a() == effect->b()
            ? "always the same value"
            : absl::StrFormat("%+.2f%% in each of %d pairs%s",
                              effect->percent(), pairs.size(),
                              verdict == PairedVerdict::kCannotTell
                                  ? ", too few to be certain"
                                  : ", without any variation"));
  } else if (HasMoved(change)) {
    change.set_reason(absl::StrFormat("%s in %d pairs, p = %.1g", range,
                                      pairs.size(), change.p_value()));
  } else if (verdict == PairedVerdict::kSame) {
    change.set_reason(
        absl::StrFormat("%s is within ±%g%%", range, metric.interest_percent));
  } else {
    change.set_reason(
        absl::StrFormat("%s in %d pairs is neither within ±%g%% nor proved",
                        range, pairs.size(), metric.interest_percent));
  }
  return change;
}

std::string MetricChangeText(const MetricChange& change) {
  return absl::StrCat(
      change.metric(), " ",
      change.verdict() == "cannot_tell" ? "cannot tell" : change.verdict(),
      ": ", change.reason(), ": ",
      MetricText(change.effect().a(), change.unit()), " -> ",
      MetricText(change.effect().b(), change.unit()));
}

bool HasMoved(const MetricChange& change) {
  return change.verdict() == "worse" || change.verdict() == "better";
}

}  // namespace feedrate
