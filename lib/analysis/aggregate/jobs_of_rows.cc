#include "lib/analysis/aggregate/jobs_of_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/base/status_macros.h"
#include "lib/config/text_proto.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/attempts.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/winner.h"

namespace feedrate {

std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates) {
  // Only groups of the same work are rivals.
  std::map<std::pair<std::string, Work>, std::vector<const Aggregate*>> blocks;
  for (const Aggregate& aggregate : aggregates) {
    const Work work = WorkOfLabel(aggregate.equivalence());
    if (aggregate.median() > 0 && work != Work::kOther) {
      blocks[{BlockOf(aggregate), work}].push_back(&aggregate);
    }
  }
  std::vector<CloseCall> calls;
  for (auto& [key, block] : blocks) {
    std::stable_sort(block.begin(), block.end(),
                     [](const Aggregate* a, const Aggregate* b) {
                       return a->median() > b->median();
                     });
    for (size_t i = 1; i < block.size(); ++i) {
      const Separation found =
          Separate(ContestantOf(*block[i - 1]), ContestantOf(*block[i]));
      if (found.evidence == Evidence::kTied ||
          found.evidence == Evidence::kFewRuns) {
        calls.push_back({block[i - 1], block[i], found.runs_needed});
      }
    }
  }
  return calls;
}

absl::StatusOr<JobsOfRows> JobsOfRows::Create(const std::string& where) {
  JobsOfRows jobs;
  ASSIGN_OR_RETURN(jobs.filter_, Filter::Parse(where));
  return jobs;
}

void JobsOfRows::Add(const Row& row) {
  if (row.job_id().empty() || row.library() == "null" ||
      !filter_.Matches(row)) {
    return;
  }
  const auto [place, is_new] = index_.emplace(row.job_id(), jobs_.size());
  if (is_new) {
    Known& known = jobs_.emplace_back();
    known.example = row;
    known.example.clear_samples_s();
  }
  Known& known = jobs_[place->second];
  ++known.rows;
  known.duration_s += row.duration_s();
  const int rank = AttemptRank(row);
  const bool is_disturbed =
      row.status() == "ok" && !DisturbancesOf(row).empty();
  const auto [run, is_first] =
      known.runs.emplace(row.run_index(), KnownRun{rank, false, false});
  if (is_first || rank <= run->second.rank) {
    run->second = {rank, row.status() == "ok", is_disturbed};
  }
}

void JobsOfRows::AddRun(const Run& run) {
  RunConfig config;
  // A run of another version may have a config that this one cannot read.
  if (!run.config().empty() &&
      ParseTextProto(run.config(), "run.config", &config).ok()) {
    executions_[run.run_id()] = config.execution();
  }
}

Job JobsOfRows::JobWithRuns(const Known& known,
                            const std::vector<int32_t>& runs,
                            int of_runs) const {
  Job job = JobOfRow(known.example);
  const auto found = executions_.find(known.example.run_id());
  if (found != executions_.end()) {
    const Execution& execution = found->second;
    if (execution.has_slow_threshold_s()) {
      job.set_slow_threshold_s(execution.slow_threshold_s());
    }
    if (execution.has_preflight_items()) {
      job.set_preflight_items(execution.preflight_items());
    }
    if (execution.has_disable_slow_skip()) {
      job.set_disable_slow_skip(execution.disable_slow_skip());
    }
  }
  job.mutable_run_indexes()->Assign(runs.begin(), runs.end());
  job.set_cost_s(known.duration_s / static_cast<double>(known.rows) *
                 static_cast<double>(runs.size()));
  job.set_cost_basis("rows");
  job.set_output(ResultFileName(job, of_runs));
  return job;
}

std::vector<Job> JobsOfRows::Missing(const std::vector<CloseCall>& calls,
                                     const std::vector<std::string>& by) const {
  std::vector<Field> fields;
  for (const std::string& name : by) {
    absl::StatusOr<Field> field = FindField(name);
    // The aggregates have these fields.
    if (field.ok()) fields.push_back(*std::move(field));
  }
  std::map<std::string, std::vector<const Known*>> groups;
  for (const Known& known : jobs_) {
    std::string key;
    for (const Field& field : fields) {
      AppendKey(ValueText(FieldOf(known.example, field)), &key);
    }
    groups[key].push_back(&known);
  }
  // If a group is in two calls, the larger number counts.
  std::map<std::string, int64_t> runs;
  std::vector<std::string> order;
  for (const CloseCall& call : calls) {
    if (call.runs == 0) continue;
    for (const Aggregate* aggregate : {call.faster, call.slower}) {
      std::string key;
      for (const Field& field : fields) {
        AppendKey(aggregate->by().at(field.name), &key);
      }
      if (runs.find(key) == runs.end()) order.push_back(key);
      runs[key] = std::max(runs[key], call.runs);
    }
  }
  std::vector<Job> missing;
  std::set<const Known*> written;
  for (const std::string& key : order) {
    const int64_t jobs = static_cast<int64_t>(groups[key].size());
    if (jobs == 0) continue;
    const int64_t each = (runs[key] + jobs - 1) / jobs;
    for (const Known* known : groups[key]) {
      if (!written.insert(known).second) continue;
      std::vector<int32_t> indexes;
      for (int32_t index = 0; index < each; ++index) {
        const auto run = known->runs.find(index);
        if (run == known->runs.end() || !run->second.is_ok) {
          indexes.push_back(index);
        }
      }
      if (indexes.empty()) continue;
      missing.push_back(JobWithRuns(*known, indexes, static_cast<int>(each)));
    }
  }
  return missing;
}

std::vector<Job> JobsOfRows::Again(const std::string& wanted,
                                   std::vector<std::string>* problems) const {
  std::vector<Job> again;
  for (const Known& known : jobs_) {
    const Row& row = known.example;
    const std::string label = JobLabel(row);
    if (!IsWantedJob(wanted, row.job_id(), label)) continue;
    if (row.mode() == "command") {
      problems->push_back(absl::StrCat(
          label,
          ": the row is of a command, and text of rows is not run; "
          "repeat its duel"));
      continue;
    }
    if (HasLabel(row, "imported")) {
      problems->push_back(absl::StrCat(label, ": another harness measured it"));
      continue;
    }
    // Fields that are not what the job was would measure something else.
    if (JobId(JobOfRow(row)) != row.job_id()) {
      problems->push_back(absl::StrCat(label,
                                       ": its fields do not give its job_id ",
                                       row.job_id(), "; the row was changed"));
      continue;
    }
    std::vector<int32_t> indexes;
    for (const auto& [index, run] : known.runs) indexes.push_back(index);
    again.push_back(
        JobWithRuns(known, indexes, static_cast<int>(indexes.size())));
  }
  return again;
}

std::vector<Job> JobsOfRows::Disturbed() const {
  std::vector<Job> disturbed;
  for (const Known& known : jobs_) {
    std::vector<int32_t> indexes;
    for (const auto& [index, run] : known.runs) {
      if (run.is_disturbed) indexes.push_back(index);
    }
    if (indexes.empty()) continue;
    disturbed.push_back(
        JobWithRuns(known, indexes, static_cast<int>(known.runs.size())));
  }
  return disturbed;
}

}  // namespace feedrate
