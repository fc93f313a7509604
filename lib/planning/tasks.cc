#include "lib/planning/tasks.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

TaskCutter::TaskCutter(const std::string& config_path, const RunConfig& config,
                       const MachineType& machine, double max_task_s)
    : config_path_(config_path),
      config_(config),
      machine_(machine),
      max_task_s_(max_task_s) {
  Start();
}

void TaskCutter::Start() {
  pending_.Clear();
  pending_.set_config(config_path_);
  pending_.set_machine_type(machine_.name());
  pending_.set_zone(config_.cloud().zone());
  pending_.set_disk_size_gb(config_.cloud().disk_size_gb());
  pending_.set_hardware_class(machine_.gpus() > 0 ? "gpu" : "cpu");
  pending_.set_scenario(config_.selection().scenario());
  pending_.set_mode(config_.selection().mode());
}

absl::Status TaskCutter::Add(const Job& job) {
  const bool wants_gpu = job.hardware_class() != "cpu";
  if (wants_gpu != (machine_.gpus() > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        machine_.name(), wants_gpu ? " has no GPU, but " : " has a GPU, but ",
        job.library(), " jobs of this config are ", job.hardware_class(),
        wants_gpu ? " rows; use a machine with a GPU"
                  : " rows; use a machine without a GPU"));
  }
  if (pending_.jobs() > 0 && pending_.last_transform() != job.transform()) {
    tasks_.push_back(std::exchange(pending_, WaveTask()));
    Start();
  }
  if (pending_.jobs() == 0) {
    pending_.set_first_transform(job.transform());
    pending_.set_first_job(jobs_);
  }
  ++jobs_;
  pending_.set_last_transform(job.transform());
  pending_.set_jobs(pending_.jobs() + 1);
  pending_.set_cost_s(pending_.cost_s() + job.cost_s());
  return absl::OkStatus();
}

std::vector<WaveTask> TaskCutter::Finish() {
  if (pending_.jobs() > 0) tasks_.push_back(pending_);
  Start();
  std::vector<WaveTask> joined;
  for (WaveTask& task : tasks_) {
    if (joined.empty() ||
        joined.back().cost_s() + task.cost_s() > max_task_s_) {
      joined.push_back(std::move(task));
      continue;
    }
    WaveTask& last = joined.back();
    last.set_last_transform(task.last_transform());
    last.set_jobs(last.jobs() + task.jobs());
    last.set_cost_s(last.cost_s() + task.cost_s());
  }
  tasks_.clear();
  return joined;
}

}  // namespace feedrate
