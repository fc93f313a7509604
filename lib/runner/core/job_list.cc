#include "lib/runner/core/job_list.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/override_flags.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/load.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/jobs.h"
#include "lib/planning/resolve.h"
#include "lib/records/job.pb.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

namespace feedrate {

absl::StatusOr<std::vector<Job>> ReadJobFile(const std::string& path) {
  std::vector<Job> jobs;
  std::string first_problem;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "job") return absl::OkStatus();
        return json.Read(&jobs.emplace_back());
      },
      [&](const std::string& problem) {
        if (first_problem.empty()) first_problem = problem;
      });
  RETURN_IF_ERROR(reader.ReadFile(path));
  // Unlike rows, jobs must be complete: a plan that was cut off is an error.
  if (!first_problem.empty()) {
    return absl::InvalidArgumentError(first_problem);
  }
  return jobs;
}

namespace {

// The first override that cannot be applied to planned jobs, or empty.
std::string LateOverride(const Overrides& o) {
  if (o.num_items.has_value()) return "num_items";
  if (o.num_runs.has_value()) return "num_runs";
  if (o.device.has_value()) return "device";
  if (o.workers.has_value()) return "workers";
  if (o.batch_size.has_value()) return "batch_size";
  if (o.libraries.has_value()) return "libraries";
  if (o.transforms.has_value()) return "transforms";
  if (o.transform_set.has_value()) return "transform_set";
  if (o.scope.has_value()) return "scope";
  if (o.min_time.has_value()) return "min_time";
  if (o.thread_policy.has_value()) return "thread_policy";
  if (o.params_profile.has_value()) return "params_profile";
  if (o.env_set.has_value()) return "env_set";
  if (o.sample_ratio.has_value()) return "sample_ratio";
  if (o.sweep.has_value()) return "sweep";
  if (o.seed.has_value()) return "seed";
  return "";
}

}  // namespace

absl::Status TooLate(absl::string_view flag) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag,
                   " changes a config, and jobs are planned already; give it "
                   "to plan, or use --config"));
}

absl::Status CheckNothingIsLate(const Overrides& overrides) {
  const std::string late = LateOverride(overrides);
  return late.empty() ? absl::OkStatus() : TooLate(late);
}

namespace {

// Keeps only the jobs that are also in the file. `duel` uses this to run
// suspects again; its file may also name the null job, which is in no plan.
absl::Status KeepJobsOfFile(const std::string& path, JobList* list) {
  ASSIGN_OR_RETURN(const std::vector<Job> wanted, ReadJobFile(path));
  std::set<std::string> ids;
  for (const Job& job : wanted) ids.insert(job.job_id());
  const auto is_unwanted = [&](const Job& job) {
    return ids.count(job.job_id()) == 0;
  };
  list->jobs.erase(
      std::remove_if(list->jobs.begin(), list->jobs.end(), is_unwanted),
      list->jobs.end());
  if (!list->jobs.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--jobs: no job of ", path, " is in the plan of --config"));
}

absl::StatusOr<JobList> PlanJobs(const JobSource& source,
                                 const Catalogue& catalogue) {
  JobList list;
  ASSIGN_OR_RETURN(const LoadedConfig loaded,
                   LoadConfig(source.config, source.overrides));
  ASSIGN_OR_RETURN(list.config, Resolve(loaded, catalogue));
  ASSIGN_OR_RETURN(const PublishedNumbers published,
                   PublishedNumbers::Load(catalogue.configs_dir()));
  const CostModel cost(catalogue.policy(), published);
  PlanOutput output;
  output.job = [&](const Job& job) {
    list.jobs.push_back(job);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      ForEachJob({list.config, loaded.places, catalogue, cost}, output));
  list.dataset = list.config.data().dataset();
  if (source.jobs != "-") {
    RETURN_IF_ERROR(KeepJobsOfFile(source.jobs, &list));
  }
  return list;
}

absl::StatusOr<JobList> ReadJobs(const JobSource& source) {
  RETURN_IF_ERROR(CheckNothingIsLate(source.overrides));
  JobList list;
  ASSIGN_OR_RETURN(list.jobs, ReadJobFile(source.jobs));
  const Overrides& o = source.overrides;
  list.dataset = o.dataset.value_or("");
  list.config.set_label(o.label.value_or(""));
  list.config.set_note(o.note.value_or(""));
  list.config.mutable_output()->set_path(o.output.value_or("-"));
  return list;
}

absl::Status CheckJob(const Job& job, const std::string& tool,
                      const Catalogue& catalogue) {
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  const ModePolicy* mode =
      scenario == nullptr ? nullptr
                          : catalogue.FindMode(job.mode(), scenario->media());
  if (mode == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": scenario \"", job.scenario(),
                     "\" has no mode \"", job.mode(), "\" in the policy"));
  }
  if (mode->tool() == tool) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("job ", job.job_id(), " (", job.scenario(), ", ", job.mode(),
                   ") is not for ", tool, "; run it with ", mode->tool()));
}

}  // namespace

absl::StatusOr<JobList> LoadJobList(const JobSource& source,
                                    const Catalogue& catalogue) {
  ASSIGN_OR_RETURN(JobList list, source.config.empty()
                                     ? ReadJobs(source)
                                     : PlanJobs(source, catalogue));
  if (list.jobs.empty()) {
    return absl::InvalidArgumentError(
        source.config.empty()
            ? "no jobs on standard input; plan --config=FILE makes them"
            : absl::StrCat(source.config, ": nothing to run"));
  }
  for (const Job& job : list.jobs) {
    RETURN_IF_ERROR(CheckJob(job, source.tool, catalogue));
  }
  if (source.config.empty() && !list.dataset.empty()) {
    ASSIGN_OR_RETURN(const std::string id, DatasetId(list.dataset));
    for (const Job& job : list.jobs) {
      if (job.dataset() == id) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--dataset: its id is \"", id, "\", but job ",
                       job.job_id(), " is for \"", job.dataset(), "\""));
    }
  }
  return list;
}

absl::Status DoneRuns::Read(
    const std::vector<std::string>& files,
    const std::function<void(const std::string&)>& warn) {
  Row row;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        row.Clear();
        RETURN_IF_ERROR(json.Read(&row));
        int32_t& next = attempts_[{row.job_id(), row.run_index()}];
        next = std::max(next, row.attempt() + 1);
        const std::string version = version_of_(row.library());
        if (version.empty() || row.library_version().empty() ||
            row.library_version() == version) {
          existing_.Add(row);
        }
        return absl::OkStatus();
      },
      warn);
  for (const std::string& file : files) {
    RETURN_IF_ERROR(reader.ReadFile(file));
  }
  return absl::OkStatus();
}

int32_t DoneRuns::NextAttempt(const std::string& job_id,
                              int32_t run_index) const {
  const auto found = attempts_.find({job_id, run_index});
  return found == attempts_.end() ? 0 : found->second;
}

}  // namespace feedrate
