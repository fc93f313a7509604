#include "lib/runner/train/train_jobs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/config/load.h"
#include "lib/config/run_config.pb.h"
#include "lib/machine/machine.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/runner/train/train_settings.h"

namespace feedrate {
namespace {

// What settings are when a job does not name them: left out, so that a job has
// the same id whether its caller typed the default or not. Model and precision
// are always named: reports group by them.
const std::map<std::string, std::string>& Defaults() {
  static const auto* const defaults =
      new std::map<std::string, std::string>{{"accumulation", "1"},
                                             {"activation_checkpointing", "0"},
                                             {"graphs", "0"},
                                             {"learning_rate", "0.001"},
                                             {"loader", ""},
                                             {"mixing", ""},
                                             {"mixture", ""},
                                             {"optimizer", "adamw"},
                                             {"optimizer_in_step", "1"},
                                             {"steps", "100"},
                                             {"warmup", "200"},
                                             {"sample_ratio", "1"},
                                             {"world_size", "1"}};
  return *defaults;
}

absl::Status SetAxis(const std::string& name, const std::string& value,
                     Job* job) {
  int64_t number = 0;
  if (name == "device") {
    job->set_device(value);
  } else if (name == "batch_size" || name == "seed" || name == "workers") {
    if (!absl::SimpleAtoi(value, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--sweep: ", name, "=", value, " is no number"));
    }
    if (name == "seed") job->set_seed(number);
    if (name == "batch_size") job->set_batch_size(number);
    if (name == "workers") job->set_workers(number);
  } else {
    (*job->mutable_settings())[name] = value;
  }
  return absl::OkStatus();
}

// Every point of the sweep, the last axis fastest.
absl::StatusOr<std::vector<Job>> Points(const Job& base,
                                        const std::string& sweep) {
  std::vector<Job> points = {base};
  if (sweep.empty()) return points;
  const absl::StatusOr<std::vector<SweepAxis>> axes = ParseSweep(sweep);
  if (!axes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep: ", axes.status().message()));
  }
  for (const SweepAxis& axis : *axes) {
    std::vector<Job> more;
    for (const Job& point : points) {
      for (const std::string& value : axis.values()) {
        more.push_back(point);
        RETURN_IF_ERROR(SetAxis(axis.name(), value, &more.back()));
      }
    }
    points = std::move(more);
  }
  return points;
}

void DropDefaults(Job* job) {
  for (const auto& entry : Defaults()) {
    const auto found = job->settings().find(entry.first);
    if (found != job->settings().end() && found->second == entry.second) {
      job->mutable_settings()->erase(entry.first);
    }
  }
}

// Checks and names a job, and appends it when it is new, after the same with
// one process where it has several.
absl::Status AddJob(Job job, std::set<std::string>* ids,
                    std::vector<Job>* jobs) {
  DropDefaults(&job);
  RETURN_IF_ERROR(TrainSettingsOf(job).status());
  if (job.settings().count("world_size") > 0) {
    Job alone = job;
    alone.mutable_settings()->erase("world_size");
    RETURN_IF_ERROR(AddJob(std::move(alone), ids, jobs));
  }
  job.set_job_id(JobId(job));
  if (ids->insert(job.job_id()).second) jobs->push_back(std::move(job));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Job>> MakeTrainJobs(const TrainRequest& request) {
  Job base;
  base.set_scenario("train");
  base.set_mode("train");
  base.set_scope(request.scope);
  base.set_device(request.device);
  base.set_batch_size(request.batch_size);
  base.set_workers(request.workers);
  base.set_thread_policy("default");
  base.set_seed(request.seed);
  base.set_hardware_class(request.device == "cuda" ? "gpu" : "cpu");
  base.set_output("train.jsonl");
  for (int i = 0; i < request.num_runs; ++i) base.add_run_indexes(i);
  for (const auto& setting : request.settings) {
    (*base.mutable_settings())[setting.first] = setting.second;
  }
  ASSIGN_OR_RETURN(const std::vector<Job> points, Points(base, request.sweep));
  std::vector<std::string> datasets = request.datasets;
  if (datasets.empty()) datasets = {kSyntheticDataset};
  std::vector<Job> jobs;
  std::set<std::string> ids;
  for (const Job& point : points) {
    for (const std::string& dataset : datasets) {
      for (const std::string& library : request.libraries) {
        Job job = point;
        job.set_dataset(dataset);
        job.set_library(library);
        RETURN_IF_ERROR(AddJob(job, &ids, &jobs));
      }
    }
  }
  return jobs;
}

absl::StatusOr<std::vector<Job>> WithSettings(
    const std::vector<Job>& jobs,
    const std::map<std::string, std::string>& settings) {
  std::vector<Job> result;
  std::set<std::string> ids;
  for (Job job : jobs) {
    for (const auto& setting : settings) {
      (*job.mutable_settings())[setting.first] = setting.second;
    }
    RETURN_IF_ERROR(AddJob(job, &ids, &result));
  }
  return result;
}

int DeviceCount(const std::string& device) {
  const MachineInfo machine = ReadMachine(ThisMachine());
  const int count = device == "cuda" ? static_cast<int>(machine.gpu.gpus.size())
                                     : machine.cpu.usable_cores;
  return std::max(1, count);
}

absl::StatusOr<std::vector<Job>> ReadTrainJobs(const std::string& path) {
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
  if (!first_problem.empty()) return absl::InvalidArgumentError(first_problem);
  for (const Job& job : jobs) {
    if (job.mode() != "train") {
      return absl::InvalidArgumentError(
          absl::StrCat("job ", job.job_id(), " is of mode ", job.mode(),
                       ", which another program runs; `plan` names it"));
    }
    RETURN_IF_ERROR(TrainSettingsOf(job).status());
  }
  if (jobs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has no job in it; name a --model instead"));
  }
  return jobs;
}

}  // namespace feedrate
