#include "lib/analysis/aggregate/compare_groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate/row_groups.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/summary.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

constexpr char kLibrary[] = "library";
constexpr char kTransform[] = "transform";

using Block = std::vector<Aggregate*>;

// The weakest of the labels.
std::string LeastEquivalence(const std::set<std::string>& labels) {
  for (const char* label :
       {"", "different", "noop", "unchecked", "equivalent"}) {
    if (labels.count(label) > 0) return label;
  }
  return labels.empty() ? "" : *labels.begin();
}

std::string StatusOf(const RowGroup& group) {
  if (group.summary.n > 0) return "ok";
  for (const char* status :
       {"ok", "early_stopped", "unsupported", "diverged"}) {
    for (const auto& ended : group.ended) {
      if (ended.first.first == status) return status;
    }
  }
  return "failed";
}

// The unit of a field by the words of its name, as the schemas use them.
std::string UnitOfField(absl::string_view name) {
  const absl::string_view last = name.substr(name.rfind('.') + 1);
  const size_t per = last.find("_per_s");
  if (per != absl::string_view::npos) {
    const absl::string_view what = last.substr(0, per);
    const absl::string_view word = what.substr(what.rfind('_') + 1);
    return absl::StrCat(word == "mb" ? "MB" : word, "/s");
  }
  static constexpr std::pair<const char*, const char*> kEndings[] = {
      {"bytes", "bytes"},      {"bytes_out", "bytes"},
      {"bytes_read", "bytes"}, {"_s", "s"},
      {"_ms", "ms"},           {"_mhz", "MHz"},
      {"_db", "dB"},           {"_j", "J"},
      {"_joules", "J"},        {"_w", "W"},
      {"tflops", "TFLOP/s"},   {"flops", "FLOP"}};
  for (const auto& [ending, unit] : kEndings) {
    if (absl::EndsWith(last, ending)) return unit;
  }
  if (absl::StrContains(last, "step_time")) return "s";
  for (const char* word : {"share", "busy", "mfu", "efficiency", "fraction",
                           "rate", "utilisation", "of_limit", "_use"}) {
    if (absl::StrContains(last, word)) return "of 1";
  }
  return "";
}

const char* NameOf(Evidence evidence) {
  switch (evidence) {
    case Evidence::kSeparate:
      return "separate";
    case Evidence::kTied:
      return "tied";
    case Evidence::kFewRuns:
      return "few_runs";
    case Evidence::kDisturbed:
      return "disturbed";
    case Evidence::kOtherWork:
      return "other_work";
  }
  return "";
}

void FillStatistics(const RowGroup& group, double unstable_cv, Aggregate* out) {
  const Summary& summary = group.summary;
  out->set_median(summary.median);
  out->set_mean(summary.mean);
  out->set_sd(summary.sd);
  out->set_cv(summary.cv);
  out->set_min(summary.min);
  out->set_max(summary.max);
  const bool few = summary.n < kManyRuns;
  if (summary.interval.has_value()) {
    ConfidenceInterval& interval = *out->mutable_interval();
    interval.set_low(summary.interval->low);
    interval.set_high(summary.interval->high);
    interval.set_method(few ? "log_t" : "order_statistics");
    if (few) out->add_flags("few_runs");
  }
  if (!group.ended.empty()) out->add_flags("incomplete");
  if (summary.cv > unstable_cv) out->add_flags("unstable");
  for (const std::string& label : group.labels) out->add_flags(label);
  if (group.rows_with_samples == summary.n && out->metric().empty()) {
    out->set_p50_s(group.samples.Quantile(0.5));
    out->set_p90_s(group.samples.Quantile(0.9));
    out->set_p99_s(group.samples.Quantile(0.99));
  }
  out->set_equivalence(LeastEquivalence(group.equivalence));
}

Aggregate ToRecord(const Query& query, const std::vector<size_t>& by,
                   const RowGroup& group, const AggregateOptions& options) {
  Aggregate out;
  for (size_t i = 0; i < by.size(); ++i) {
    (*out.mutable_by())[query.fields[by[i]].name] = ValueText(group.by[i]);
  }
  for (size_t i = 0; i < query.held.size(); ++i) {
    const std::string text = ValueText(group.held[i]);
    if (text == "-" ||
        std::find(by.begin(), by.end(), query.held[i]) != by.end()) {
      continue;
    }
    (*out.mutable_held())[query.fields[query.held[i]].name] = text;
  }
  out.set_status(StatusOf(group));
  out.set_runs(group.summary.n);
  out.set_retries(group.retries);
  out.set_unit(group.unit);
  if (!query.is_throughput) {
    out.set_metric(query.metric.name);
    out.set_unit(UnitOfField(query.metric.name));
  }
  out.set_disturbed(group.disturbed);
  for (const auto& [warning, runs] : group.disturbances) {
    (*out.mutable_disturbances())[warning] = runs;
  }
  for (const auto& [attempts, runs] : group.earlier_attempts) {
    EarlierAttempt& earlier = *out.add_earlier_attempts();
    earlier.set_attempt(attempts.first);
    earlier.set_last(attempts.second);
    earlier.set_runs(runs);
  }
  for (const auto& [field, values] : group.pooled) {
    if (values.size() < 2) continue;
    (*out.mutable_pooled())[field] = static_cast<int64_t>(values.size());
  }
  for (const auto& [key, runs] : group.ended) {
    EndedRuns& ended = *out.add_ended();
    ended.set_status(key.first);
    ended.set_reason(key.second);
    ended.set_runs(runs);
  }
  if (group.slow_from_s.has_value()) {
    out.set_slow_marker(options.slow_marker == nullptr
                            ? "slow"
                            : options.slow_marker(group.scenario, group.unit,
                                                  *group.slow_from_s));
  }
  if (group.summary.n > 0) {
    FillStatistics(group, options.unstable_cv, &out);
  }
  return out;
}

// Like ContestantOf; on request, whatever the work.
Contestant ContestantOf(const Aggregate& aggregate, bool any_work) {
  Contestant one = feedrate::ContestantOf(aggregate);
  if (any_work) one.work = Work::kSame;
  return one;
}

void Rank(const Block& block, bool any_work) {
  std::vector<Contestant> contestants;
  for (const Aggregate* one : block) {
    contestants.push_back(ContestantOf(*one, any_work));
  }
  const std::vector<Standing> standings = Standings(contestants);
  for (size_t i = 0; i < block.size(); ++i) {
    Aggregate& one = *block[i];
    const Standing& standing = standings[i];
    if (standing.rank > 0) one.set_rank(standing.rank);
    one.set_rank_of(standing.rivals == 0 ? 0 : standing.rivals + 1);
    one.set_tied(standing.tied);
    one.set_fastest(standing.wins);
    if (!standing.tied) continue;
    one.set_rival(
        block[static_cast<size_t>(standing.rival)]->by().at(kLibrary));
    one.set_evidence(NameOf(standing.evidence));
    one.set_runs_needed(standing.runs_needed);
  }
}

bool SameWork(const Aggregate& aggregate) {
  return WorkOfLabel(aggregate.equivalence()) == Work::kSame;
}

std::string WorkOf(const Aggregate& aggregate) {
  return absl::StrCat(aggregate.by().at(kLibrary), " is ",
                      aggregate.equivalence().empty()
                          ? "not checked"
                          : aggregate.equivalence());
}

// Why there is no ratio; empty if there is one.
std::string NotComparable(const Aggregate& one, const Aggregate* reference,
                          const AggregateOptions& options) {
  if (reference == nullptr) {
    return absl::StrCat("no row of ", options.relative_to);
  }
  if (!reference->has_median()) {
    return absl::StrCat(options.relative_to, " is ", reference->status());
  }
  if (!one.has_median()) return one.status();
  if (reference->median() <= 0 || one.median() <= 0) return "no throughput";
  if (options.any_work || &one == reference) return "";
  if (!SameWork(*reference)) return WorkOf(*reference);
  if (!SameWork(one)) return WorkOf(one);
  return "";
}

void SpeedUps(const Block& block, const AggregateOptions& options) {
  const auto found =
      std::find_if(block.begin(), block.end(), [&](const Aggregate* aggregate) {
        return aggregate->by().at(kLibrary) == options.relative_to;
      });
  const Aggregate* reference = found == block.end() ? nullptr : *found;
  for (Aggregate* one : block) {
    SpeedUp& speed_up = *one->mutable_speed_up();
    speed_up.set_relative_to(options.relative_to);
    speed_up.set_reason(NotComparable(*one, reference, options));
    if (!speed_up.reason().empty()) continue;
    speed_up.set_ratio(one->median() / reference->median());
    if (one == reference) continue;
    const Separation found =
        Separate(ContestantOf(*one, /*any_work=*/true),
                 ContestantOf(*reference, /*any_work=*/true));
    speed_up.set_evidence(NameOf(found.evidence));
    speed_up.set_runs_needed(found.runs_needed);
    if (!found.ratio.has_value()) continue;
    speed_up.set_low(found.ratio->low);
    speed_up.set_high(found.ratio->high);
  }
}

// One mean per library and values of `by` other than the transform.
std::vector<MeanSpeedUp> Means(const std::vector<Aggregate>& aggregates,
                               const std::string& relative_to) {
  struct Ratios {
    MeanSpeedUp mean;
    std::vector<double> ratios;
  };
  std::map<std::string, Ratios> all;
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.by().at(kLibrary) == relative_to) continue;
    std::map<std::string, std::string> shared(aggregate.by().begin(),
                                              aggregate.by().end());
    shared.erase(kLibrary);
    shared.erase(kTransform);
    std::string key;
    for (const auto& [name, text] : shared) {
      AppendKey(name, &key);
      AppendKey(text, &key);
    }
    AppendKey(aggregate.by().at(kLibrary), &key);
    Ratios& entry = all[key];
    entry.mean.set_library(aggregate.by().at(kLibrary));
    entry.mean.set_relative_to(relative_to);
    for (const auto& [name, text] : shared) {
      (*entry.mean.mutable_by())[name] = text;
    }
    // A tie is a ratio near 1 and belongs to the mean. One run, or disturbed
    // runs, are not a ratio.
    const std::string& evidence = aggregate.speed_up().evidence();
    if (evidence == "separate" || evidence == "tied") {
      entry.ratios.push_back(aggregate.speed_up().ratio());
    } else {
      entry.mean.set_left_out(entry.mean.left_out() + 1);
    }
  }
  std::vector<MeanSpeedUp> means;
  for (auto& [key, entry] : all) {
    entry.mean.set_rows(static_cast<int64_t>(entry.ratios.size()));
    if (!entry.ratios.empty()) {
      entry.mean.set_ratio(GeometricMean(entry.ratios));
      const auto interval = GeometricMeanInterval(entry.ratios);
      if (interval.has_value()) {
        entry.mean.set_low(interval->low);
        entry.mean.set_high(interval->high);
      }
    }
    means.push_back(std::move(entry.mean));
  }
  return means;
}

// As BlockOf, without the detour through a record.
std::string BlockKey(const Query& query, const std::vector<size_t>& by,
                     const RowGroup& group) {
  std::string key;
  for (size_t i = 0; i < by.size(); ++i) {
    if (MayRivalsDiffer(query.fields[by[i]].name)) continue;
    AppendKey(ValueText(group.by[i]), &key);
  }
  for (size_t i = 0; i < query.held.size(); ++i) {
    if (MayRivalsDiffer(query.fields[query.held[i]].name)) continue;
    AppendKey(ValueText(group.held[i]), &key);
  }
  return key;
}

// InvalidArgument if no group is of the library that speed-ups are relative to.
absl::Status CheckReference(const std::vector<Aggregate>& aggregates,
                            const std::string& relative_to) {
  if (relative_to.empty() || aggregates.empty()) return absl::OkStatus();
  std::set<std::string> libraries;
  for (const Aggregate& aggregate : aggregates) {
    libraries.insert(aggregate.by().at(kLibrary));
  }
  if (libraries.count(relative_to) > 0) return absl::OkStatus();
  const std::string nearest =
      DidYouMean(relative_to, {libraries.begin(), libraries.end()});
  return absl::InvalidArgumentError(absl::StrCat(
      "--relative_to: no row of library \"", relative_to, "\"",
      nearest.empty()
          ? absl::StrCat("; use one of ", absl::StrJoin(libraries, ", "))
          : nearest));
}

}  // namespace

absl::StatusOr<AggregateResult> CompareGroups(const Query& query,
                                              const RowGroups& groups,
                                              const AggregateOptions& options) {
  AggregateResult result;
  for (const size_t field : groups.by) {
    result.by.push_back(query.fields[field].name);
  }
  result.aggregates.reserve(groups.groups.size());
  for (const RowGroup& group : groups.groups) {
    (group.is_harness ? result.harness : result.aggregates)
        .push_back(ToRecord(query, groups.by, group, options));
  }
  const bool shows_harness = result.aggregates.empty();
  if (shows_harness) std::swap(result.aggregates, result.harness);
  if (!query.is_throughput) return result;
  if (std::find(options.by.begin(), options.by.end(), kLibrary) ==
      options.by.end()) {
    return result;
  }
  RETURN_IF_ERROR(CheckReference(result.aggregates, options.relative_to));
  std::map<std::string, Block> blocks;
  size_t next = 0;
  for (const RowGroup& group : groups.groups) {
    if (group.is_harness != shows_harness) continue;
    blocks[BlockKey(query, groups.by, group)].push_back(
        &result.aggregates[next++]);
  }
  for (const auto& [key, block] : blocks) {
    Rank(block, options.any_work);
    if (!options.relative_to.empty()) SpeedUps(block, options);
  }
  if (!options.relative_to.empty()) {
    result.means = Means(result.aggregates, options.relative_to);
  }
  return result;
}

Contestant ContestantOf(const Aggregate& aggregate) {
  Contestant one;
  one.summary.n = aggregate.runs();
  one.summary.median = aggregate.median();
  one.summary.cv = aggregate.cv();
  one.summary.min = aggregate.min();
  one.summary.max = aggregate.max();
  if (aggregate.has_interval()) {
    one.summary.interval =
        Interval{aggregate.interval().low(), aggregate.interval().high()};
  }
  one.disturbed = aggregate.disturbed();
  one.work = WorkOfLabel(aggregate.equivalence());
  for (const auto& pooled : aggregate.pooled()) {
    if (IsWorkField(pooled.first)) one.work = Work::kOther;
  }
  return one;
}

bool MayRivalsDiffer(const std::string& field) {
  return field == kLibrary || field == "library_version" ||
         absl::StartsWith(field, "equivalence.");
}

std::string BlockOf(const Aggregate& aggregate) {
  std::map<std::string, std::string> shared(aggregate.by().begin(),
                                            aggregate.by().end());
  shared.insert(aggregate.held().begin(), aggregate.held().end());
  std::string key;
  for (const auto& [name, text] : shared) {
    if (MayRivalsDiffer(name)) continue;
    AppendKey(name, &key);
    AppendKey(text, &key);
  }
  return key;
}

}  // namespace feedrate
