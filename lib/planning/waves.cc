#include "lib/planning/waves.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/draw/text.h"
#include "lib/planning/plan_summary.h"

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

namespace {

const std::vector<std::string>& Resources() {
  static const auto& names =
      *new std::vector<std::string>{"vcpus", "gpus", "disk_gb", "machines"};
  return names;
}

bool Counts(const QuotaLimit& limit, const MachineType& machine) {
  if (limit.has_family() && limit.family() != machine.family()) return false;
  return !limit.has_disk_type() || limit.disk_type() == machine.disk_type();
}

int64_t Takes(const QuotaLimit& limit, const MachineType& machine,
              const WaveTask& task) {
  if (!Counts(limit, machine)) return 0;
  if (limit.resource() == "vcpus") return machine.vcpus();
  if (limit.resource() == "gpus") return machine.gpus();
  if (limit.resource() == "disk_gb") return task.disk_size_gb();
  return 1;
}

std::string Words(const QuotaLimit& limit) {
  std::string unit = limit.resource() == "vcpus"     ? "vCPU"
                     : limit.resource() == "gpus"    ? "GPU"
                     : limit.resource() == "disk_gb" ? "GB"
                                                     : "machines";
  std::string text = absl::StrCat(limit.amount(), " ", unit);
  if (limit.has_family()) absl::StrAppend(&text, " of ", limit.family());
  if (limit.has_disk_type()) absl::StrAppend(&text, " of ", limit.disk_type());
  if (limit.per_region()) absl::StrAppend(&text, " in a region");
  return text;
}

absl::Status CheckMachine(const FieldChecker& check, const std::string& path,
                          const MachineType& machine) {
  if (machine.name().empty()) {
    return check.Error(path + ".name",
                       "is missing; write one such as c4-standard-16");
  }
  if (machine.family().empty()) {
    return check.Error(path + ".family", "is missing; write one such as c4");
  }
  RETURN_IF_ERROR(check.AtLeast(path + ".vcpus", machine.vcpus(), 1));
  RETURN_IF_ERROR(check.AtLeast(path + ".gpus", machine.gpus(), 0));
  if (!machine.has_price_per_hour()) return absl::OkStatus();
  return check.AtLeast(path + ".price_per_hour", machine.price_per_hour(), 0);
}

}  // namespace

std::string RegionOfZone(const std::string& zone) {
  return zone.substr(0, zone.rfind('-'));
}

absl::Status CheckQuota(const Quota& quota, const FieldChecker& check) {
  if (quota.name().empty()) {
    return check.Error("name", "is missing; give the quota a name");
  }
  std::vector<std::string> names;
  for (int i = 0; i < quota.machine_types_size(); ++i) {
    RETURN_IF_ERROR(CheckMachine(check, absl::StrCat("machine_types[", i, "]"),
                                 quota.machine_types(i)));
    names.push_back(quota.machine_types(i).name());
  }
  if (names.empty()) {
    return check.Error("machine_types", "is missing; describe at least one");
  }
  RETURN_IF_ERROR(check.Distinct("machine_types", names));
  for (int i = 0; i < quota.limits_size(); ++i) {
    const std::string path = absl::StrCat("limits[", i, "]");
    const QuotaLimit& limit = quota.limits(i);
    RETURN_IF_ERROR(
        check.OneOf(path + ".resource", limit.resource(), Resources()));
    if (!limit.has_amount()) {
      return check.Error(path + ".amount", "is missing; write a number from 0");
    }
    RETURN_IF_ERROR(check.AtLeast(path + ".amount",
                                  static_cast<double>(limit.amount()), 0));
  }
  if (quota.has_setup_s()) {
    RETURN_IF_ERROR(check.AtLeast("setup_s", quota.setup_s(), 0));
  }
  if (!quota.has_max_task_s()) return absl::OkStatus();
  return check.Above("max_task_s", quota.max_task_s(), 0);
}

const MachineType* FindMachineType(const Quota& quota,
                                   const std::string& name) {
  for (const MachineType& machine : quota.machine_types()) {
    if (machine.name() == name) return &machine;
  }
  return nullptr;
}

std::string QuotaUse::TryAdd(const WaveTask& task) {
  const MachineType& machine = *FindMachineType(quota_, task.machine_type());
  const std::string region = RegionOfZone(task.zone());
  for (int i = 0; i < quota_.limits_size(); ++i) {
    const QuotaLimit& limit = quota_.limits(i);
    const int64_t takes = Takes(limit, machine, task);
    const int64_t used = used_[i][limit.per_region() ? region : ""];
    if (takes > 0 && used + takes > limit.amount()) {
      return absl::StrCat(Words(limit), ": ", used, " used, one more ",
                          machine.name(), " needs ", takes);
    }
  }
  for (int i = 0; i < quota_.limits_size(); ++i) {
    const QuotaLimit& limit = quota_.limits(i);
    used_[i][limit.per_region() ? region : ""] += Takes(limit, machine, task);
  }
  return "";
}

namespace {

constexpr double kSetupSeconds = 600;
constexpr double kMaxTaskSeconds = 14400;

// Takes from `waiting` what fits together; the rest stays in order.
Wave NextWave(const Quota& quota, std::vector<WaveTask>* waiting) {
  Wave wave;
  QuotaUse use(quota);
  std::set<std::string> held_up;  // Machine types whose turn has passed.
  std::vector<WaveTask> rest;
  for (WaveTask& task : *waiting) {
    std::string forbidden;
    if (held_up.count(task.machine_type()) == 0) forbidden = use.TryAdd(task);
    if (held_up.count(task.machine_type()) > 0 || !forbidden.empty()) {
      if (!forbidden.empty()) wave.add_binding_quotas(forbidden);
      held_up.insert(task.machine_type());
      rest.push_back(std::move(task));
    } else {
      *wave.add_tasks() = std::move(task);
    }
  }
  *waiting = std::move(rest);
  return wave;
}

void SetDurationAndPrice(const Quota& quota, Wave* wave) {
  double price = 0;
  bool has_price = true;
  for (const WaveTask& task : wave->tasks()) {
    const double seconds = SetupSeconds(quota) + task.cost_s();
    wave->set_duration_s(std::max(wave->duration_s(), seconds));
    const MachineType& machine = *FindMachineType(quota, task.machine_type());
    has_price = has_price && machine.has_price_per_hour();
    price += machine.price_per_hour() * seconds / kSecondsPerHour;
  }
  if (has_price) wave->set_price(price);
}

std::string Machines(const Wave& wave) {
  std::map<std::string, int> counts;
  for (const WaveTask& task : wave.tasks()) ++counts[task.machine_type()];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    parts.push_back(absl::StrCat(count, " x ", name));
  }
  return absl::StrJoin(parts, ", ");
}

std::string TransformRange(const WaveTask& task) {
  if (task.first_transform() == task.last_transform()) {
    return task.first_transform();
  }
  return absl::StrCat(task.first_transform(), " … ", task.last_transform());
}

std::string ConfigName(const WaveTask& task) {
  const std::string name = BaseName(task.config());
  return name.substr(0, name.find(".textproto"));
}

std::string WaveText(const Wave& wave) {
  std::string text =
      absl::StrCat("Wave ", wave.index() + 1, ": ", Machines(wave), ", ",
                   DurationText(wave.duration_s()));
  if (wave.has_price()) absl::StrAppendFormat(&text, ", %.2f", wave.price());
  text += "\n";
  Table table(
      {"config", "machine", "zone", "disk", "jobs", "estimate", "transforms"},
      {Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
       Align::kRight, Align::kLeft});
  for (const WaveTask& task : wave.tasks()) {
    table.AddRow({ConfigName(task), task.machine_type(), task.zone(),
                  absl::StrCat(task.disk_size_gb(), " GB"),
                  absl::StrCat(task.jobs()), DurationText(task.cost_s()),
                  TransformRange(task)});
  }
  text += table.ToText();
  for (const std::string& quota : wave.binding_quotas()) {
    absl::StrAppend(&text, "quota that binds: ", quota, "\n");
  }
  return text + "\n";
}

}  // namespace

int PaperStepOf(const std::string& scenario, const std::string& mode,
                const Policy& policy) {
  for (int i = 0; i < policy.paper_order_size(); ++i) {
    const PaperStep& step = policy.paper_order(i);
    if (step.scenario() == scenario &&
        (!step.has_mode() || step.mode() == mode)) {
      return i;
    }
  }
  return policy.paper_order_size();
}

double SetupSeconds(const Quota& quota) {
  return quota.has_setup_s() ? quota.setup_s() : kSetupSeconds;
}

double MaxTaskSeconds(const Quota& quota) {
  return quota.has_max_task_s() ? quota.max_task_s() : kMaxTaskSeconds;
}

absl::StatusOr<std::vector<Wave>> PackWaves(std::vector<WaveTask> tasks,
                                            const Quota& quota,
                                            const Policy& policy) {
  for (const WaveTask& task : tasks) {
    const std::string forbidden = QuotaUse(quota).TryAdd(task);
    if (forbidden.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(task.config(), ": one ", task.machine_type(),
                     " alone is over the quota (", forbidden,
                     "); use a smaller machine or disk"));
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const WaveTask& a, const WaveTask& b) {
                     return PaperStepOf(a.scenario(), a.mode(), policy) <
                            PaperStepOf(b.scenario(), b.mode(), policy);
                   });
  std::vector<Wave> waves;
  while (!tasks.empty()) {
    Wave wave = NextWave(quota, &tasks);
    wave.set_index(static_cast<int32_t>(waves.size()));
    SetDurationAndPrice(quota, &wave);
    waves.push_back(std::move(wave));
  }
  return waves;
}

std::string WavesText(const std::vector<Wave>& waves) {
  std::string text;
  int64_t jobs = 0;
  double seconds = 0;
  double price = 0;
  bool has_price = !waves.empty();
  for (const Wave& wave : waves) {
    text += WaveText(wave);
    for (const WaveTask& task : wave.tasks()) jobs += task.jobs();
    seconds += wave.duration_s();
    has_price = has_price && wave.has_price();
    price += wave.price();
  }
  absl::StrAppend(&text, waves.size(),
                  waves.size() == 1 ? " wave, " : " waves, ", jobs,
                  " jobs, ETA ", DurationText(seconds));
  if (has_price) absl::StrAppendFormat(&text, ", %.2f in all", price);
  return text + "\n";
}

}  // namespace feedrate
