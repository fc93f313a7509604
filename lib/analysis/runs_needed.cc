#include "lib/analysis/runs_needed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/analysis/compare_groups.h"
#include "lib/analysis/field.h"
#include "lib/analysis/filter.h"
#include "lib/analysis/value.h"
#include "lib/base/status_macros.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// A median of normal data is less sure than a mean by the root of pi / 2.
constexpr double kMedianOverMean = 1.2533;

// Standard deviation of the logarithms of runs.
double LogDeviationOf(const Aggregate& aggregate) {
  // One or two runs say nothing of it: the most that is not `unstable`.
  const double cv = aggregate.runs() < kMinRunsForInterval
                        ? AggregateOptions().unstable_cv
                        : aggregate.cv();
  return std::sqrt(std::log1p(cv * cv));
}

// Half the width that an interval of `n` runs has on average, in logarithms.
double HalfWidth(const Aggregate& aggregate, int64_t n) {
  const double t = StudentTQuantile(0.975, static_cast<double>(n - 1));
  return t * LogDeviationOf(aggregate) / std::sqrt(static_cast<double>(n)) *
         (n < kManyRuns ? 1 : kMedianOverMean);
}

// Whether `n` runs each should separate the two; more where there are more.
bool Separates(int64_t n, const Aggregate& faster, const Aggregate& slower) {
  return HalfWidth(faster, std::max(n, faster.runs())) +
             HalfWidth(slower, std::max(n, slower.runs())) <
         std::log(faster.median() / slower.median());
}

bool IsClose(const Aggregate& faster, const Aggregate& slower) {
  if (faster.has_interval() && slower.has_interval()) {
    return faster.interval().low() <= slower.interval().high();
  }
  return !Separates(kMinRunsForInterval, faster, slower);
}

int64_t RunsFor(const Aggregate& faster, const Aggregate& slower) {
  const int64_t now = std::min(faster.runs(), slower.runs());
  for (const int64_t n : kRunLadder) {
    if (n <= now) continue;
    // The deviation is not known yet: see after three.
    if (now < kMinRunsForInterval) return n;
    if (Separates(n, faster, slower)) return n;
  }
  return 0;
}

std::string KeyOf(const Aggregate& aggregate, const std::vector<Field>& by) {
  std::string key;
  for (const Field& field : by) {
    absl::StrAppend(&key, aggregate.by().at(field.name), "\x1F");
  }
  return key;
}

}  // namespace

std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates) {
  std::map<std::string, std::vector<const Aggregate*>> blocks;
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.has_median() && aggregate.median() > 0) {
      blocks[BlockOf(aggregate)].push_back(&aggregate);
    }
  }
  std::vector<CloseCall> calls;
  for (auto& [key, block] : blocks) {
    std::stable_sort(block.begin(), block.end(),
                     [](const Aggregate* a, const Aggregate* b) {
                       return a->median() > b->median();
                     });
    for (size_t i = 1; i < block.size(); ++i) {
      if (!IsClose(*block[i - 1], *block[i])) continue;
      calls.push_back(
          {block[i - 1], block[i], RunsFor(*block[i - 1], *block[i])});
    }
  }
  return calls;
}

absl::StatusOr<JobsOfGroups> JobsOfGroups::Create(
    const std::vector<std::string>& by, const std::string& where) {
  JobsOfGroups jobs;
  for (const std::string& name : by) {
    ASSIGN_OR_RETURN(Field field, FindField(name));
    jobs.by_.push_back(std::move(field));
  }
  ASSIGN_OR_RETURN(jobs.filter_, Filter::Parse(where));
  return jobs;
}

void JobsOfGroups::Add(const Row& row) {
  if (row.job_id().empty() || !filter_.Matches(row)) return;
  std::string key;
  for (const Field& field : by_) {
    absl::StrAppend(&key, ValueText(FieldOf(row, field)), "\x1F");
  }
  Known& known = groups_[key][row.job_id()];
  if (known.rows++ == 0) known.job = JobOfRow(row);
  known.duration_s += row.duration_s();
  if (row.status() == "ok") known.done.insert(row.run_index());
}

std::vector<Job> JobsOfGroups::Missing(
    const std::vector<CloseCall>& calls) const {
  // A group may be in two calls: the larger number counts.
  std::map<std::string, int64_t> runs;
  std::vector<std::string> order;
  for (const CloseCall& call : calls) {
    if (call.runs == 0) continue;
    for (const Aggregate* aggregate : {call.faster, call.slower}) {
      const std::string key = KeyOf(*aggregate, by_);
      if (runs.find(key) == runs.end()) order.push_back(key);
      runs[key] = std::max(runs[key], call.runs);
    }
  }
  std::vector<Job> missing;
  std::set<std::string> written;
  for (const std::string& key : order) {
    const auto group = groups_.find(key);
    if (group == groups_.end()) continue;
    const int64_t jobs = static_cast<int64_t>(group->second.size());
    const int64_t each = (runs[key] + jobs - 1) / jobs;
    for (const auto& [job_id, known] : group->second) {
      if (!written.insert(job_id).second) continue;
      Job job = known.job;
      for (int32_t index = 0; index < each; ++index) {
        if (known.done.count(index) == 0) job.add_run_indexes(index);
      }
      if (job.run_indexes_size() == 0) continue;
      job.set_cost_s(known.duration_s / static_cast<double>(known.rows) *
                     job.run_indexes_size());
      job.set_output(ResultFileName(job, static_cast<int>(each)));
      missing.push_back(std::move(job));
    }
  }
  return missing;
}

}  // namespace feedrate
