#include "lib/analysis/compare_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_groups.h"
#include "lib/analysis/value.h"
#include "lib/records/records.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr char kLibrary[] = "library";
constexpr char kTransform[] = "transform";

using Block = std::vector<Aggregate*>;

// The label that promises least.
std::string LeastEquivalence(const std::set<std::string>& labels) {
  for (const char* label :
       {"", "different", "noop", "unchecked", "equivalent"}) {
    if (labels.count(label) > 0) return label;
  }
  return labels.empty() ? "" : *labels.begin();
}

std::string StatusOf(const RowGroup& group) {
  if (group.summary.n > 0) return "ok";
  for (const char* status : {"early_stopped", "unsupported"}) {
    for (const auto& ended : group.ended) {
      if (ended.first.first == status) return status;
    }
  }
  return "failed";
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
  if (group.rows_with_samples == summary.n) {
    out->set_p50_s(group.samples.Quantile(0.5));
    out->set_p90_s(group.samples.Quantile(0.9));
    out->set_p99_s(group.samples.Quantile(0.99));
  }
  out->set_equivalence(LeastEquivalence(group.equivalence));
}

Aggregate ToRecord(const Query& query, const RowGroup& group,
                   const AggregateOptions& options) {
  Aggregate out;
  for (size_t i = 0; i < query.by_count; ++i) {
    (*out.mutable_by())[query.fields[i].name] = ValueText(group.by[i]);
  }
  for (size_t i = 0; i < query.held.size(); ++i) {
    const std::string text = ValueText(group.held[i]);
    if (text == "-") continue;
    (*out.mutable_held())[query.fields[query.held[i]].name] = text;
  }
  out.set_status(StatusOf(group));
  out.set_runs(group.summary.n);
  out.set_retries(group.retries);
  out.set_unit(group.unit);
  for (const auto& [key, runs] : group.ended) {
    EndedRuns& ended = *out.add_ended();
    ended.set_status(key.first);
    ended.set_reason(key.second);
    ended.set_runs(runs);
    if (key.first == "early_stopped") {
      out.set_slow_marker(
          options.slow_marker == nullptr
              ? "slow"
              : options.slow_marker(group.scenario, group.unit));
    }
  }
  if (group.summary.n > 0) {
    FillStatistics(group, options.unstable_cv, &out);
  }
  return out;
}

void Rank(const Block& block) {
  std::map<int, int> count;
  for (Aggregate* one : block) {
    if (!one->has_interval()) continue;
    int rank = 1;
    for (const Aggregate* other : block) {
      if (other->has_interval() &&
          other->interval().low() > one->interval().high()) {
        ++rank;
      }
    }
    one->set_rank(rank);
    ++count[rank];
  }
  for (Aggregate* one : block) {
    if (one->has_rank()) one->set_tied(count[one->rank()] > 1);
  }
}

bool SameWork(const Aggregate& aggregate) {
  return aggregate.equivalence() == "exact" ||
         aggregate.equivalence() == "equivalent";
}

std::string WorkOf(const Aggregate& aggregate) {
  return absl::StrCat(aggregate.by().at(kLibrary), " is ",
                      aggregate.equivalence().empty()
                          ? "not checked"
                          : aggregate.equivalence());
}

// Why the two have no ratio; empty when they have.
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

Interval ToInterval(const ConfidenceInterval& record) {
  return {record.low(), record.high()};
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
    if (one == reference || !one->has_interval() ||
        !reference->has_interval()) {
      continue;
    }
    const Interval interval =
        RatioInterval(one->median(), ToInterval(one->interval()),
                      reference->median(), ToInterval(reference->interval()));
    speed_up.set_low(interval.low);
    speed_up.set_high(interval.high);
  }
}

// One for each library and values of by besides the transform.
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
      absl::StrAppend(&key, name, "\x1F", text, "\x1F");
    }
    absl::StrAppend(&key, aggregate.by().at(kLibrary));
    Ratios& entry = all[key];
    entry.mean.set_library(aggregate.by().at(kLibrary));
    entry.mean.set_relative_to(relative_to);
    for (const auto& [name, text] : shared) {
      (*entry.mean.mutable_by())[name] = text;
    }
    if (aggregate.speed_up().has_ratio()) {
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

}  // namespace

std::string BlockOf(const Aggregate& aggregate) {
  std::map<std::string, std::string> shared(aggregate.by().begin(),
                                            aggregate.by().end());
  shared.insert(aggregate.held().begin(), aggregate.held().end());
  shared.erase(kLibrary);
  shared.erase("library_version");
  std::string key;
  for (const auto& [name, text] : shared) {
    absl::StrAppend(&key, name, "\x1F", text, "\x1F");
  }
  return key;
}

AggregateResult CompareGroups(const Query& query, const RowGroups& groups,
                              const AggregateOptions& options) {
  AggregateResult result;
  result.aggregates.reserve(groups.groups.size());
  for (const RowGroup& group : groups.groups) {
    result.aggregates.push_back(ToRecord(query, group, options));
  }
  if (std::find(options.by.begin(), options.by.end(), kLibrary) ==
      options.by.end()) {
    return result;
  }
  std::map<std::string, Block> blocks;
  for (Aggregate& aggregate : result.aggregates) {
    blocks[BlockOf(aggregate)].push_back(&aggregate);
  }
  for (const auto& [key, block] : blocks) {
    Rank(block);
    if (!options.relative_to.empty()) SpeedUps(block, options);
  }
  if (!options.relative_to.empty()) {
    result.means = Means(result.aggregates, options.relative_to);
  }
  return result;
}

}  // namespace feedrate
