#include "lib/analysis/aggregate/executions_of_rows.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/records/attempts.h"
#include "lib/stats/elsewhere.h"
#include "lib/stats/quantiles.h"

namespace feedrate {

absl::StatusOr<ExecutionsOfRows> ExecutionsOfRows::Create(
    const AggregateOptions& options) {
  ExecutionsOfRows executions;
  ASSIGN_OR_RETURN(executions.filter_, Filter::Parse(options.where));
  ASSIGN_OR_RETURN(executions.metric_, FindField(options.metric));
  return executions;
}

void ExecutionsOfRows::AddRun(const Run& run) {
  // The date of an RFC 3339 time.
  origins_[run.run_id()] = {host_, run.started_at().substr(0, 10)};
}

void ExecutionsOfRows::Add(const Row& row) {
  if (row.job_id().empty() || row.run_id().empty() || row.library() == "null" ||
      row.status() != "ok" || !filter_.Matches(row)) {
    return;
  }
  const Value value = FieldOf(row, metric_);
  if (value.kind != Value::Kind::kNumber || !(value.number > 0)) return;
  const auto [place, is_new] = jobs_.emplace(
      absl::StrCat(row.job_id(), "\n", RunIdentity(row)), Known());
  Known& known = place->second;
  if (is_new) {
    known.example = row;
    known.example.clear_samples_s();
  }
  const int rank = AttemptRank(row);
  const auto [run, is_first] = known.runs.emplace(
      std::make_pair(row.run_id(), row.run_index()), Attempt());
  if (is_first || rank <= run->second.rank) {
    run->second = {rank, value.number};
  }
}

std::string ExecutionsOfRows::Fill(AggregateResult* result) const {
  std::vector<Field> fields;
  for (const std::string& name : result->by) {
    absl::StatusOr<Field> field = FindField(name);
    // The aggregates have these fields.
    if (field.ok()) fields.push_back(*std::move(field));
  }
  std::map<std::string, size_t> groups;
  for (size_t i = 0; i < result->aggregates.size(); ++i) {
    std::string key;
    for (const Field& field : fields) {
      AppendKey(result->aggregates[i].by().at(field.name), &key);
    }
    groups[key] = i;
  }
  // By run id, for each group.
  std::map<std::string, std::vector<std::vector<double>>> values;
  for (const auto& [id, known] : jobs_) {
    std::string key;
    for (const Field& field : fields) {
      AppendKey(ValueText(FieldOf(known.example, field)), &key);
    }
    const auto group = groups.find(key);
    if (group == groups.end()) continue;
    for (const auto& [run, attempt] : known.runs) {
      std::vector<std::vector<double>>& of_run = values[run.first];
      of_run.resize(result->aggregates.size());
      of_run[group->second].push_back(attempt.value);
    }
  }
  std::vector<ExecutionOfJobs> executions;
  for (auto& [run_id, by_group] : values) {
    ExecutionOfJobs& execution = executions.emplace_back();
    const auto origin = origins_.find(run_id);
    if (origin != origins_.end()) {
      execution.machine = origin->second.machine;
      execution.day = origin->second.day;
    }
    for (std::vector<double>& of_group : by_group) {
      execution.medians.push_back(
          of_group.empty() ? std::numeric_limits<double>::quiet_NaN()
                           : SelectQuantile(absl::MakeSpan(of_group), 0.5));
    }
  }
  const absl::optional<Elsewhere> found = FindElsewhere(executions);
  if (!found) {
    return absl::StrCat(
        "95% elsewhere is not known: it takes three executions of the program "
        "(run_id), and these rows are of ",
        executions.size());
  }
  for (size_t i = 0; i < result->aggregates.size(); ++i) {
    if (!found->intervals[i]) continue;
    ElsewhereInterval& to = *result->aggregates[i].mutable_elsewhere();
    to.set_low(found->intervals[i]->low);
    to.set_high(found->intervals[i]->high);
    to.set_repeated(RepeatedName(found->what));
    to.set_units(found->units);
  }
  const char* const where =
      found->what == Repeated::kMachines ? "on another machine of this kind"
      : found->what == Repeated::kDays   ? "on this machine on another day"
                                         : "on this machine, soon";
  return absl::StrCat("95% elsewhere: the median of another execution ", where,
                      " lies there in 95 of 100 cases, as ", found->units, " ",
                      RepeatedName(found->what), " show");
}

}  // namespace feedrate
