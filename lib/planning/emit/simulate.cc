#include "lib/planning/emit/simulate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/waves.h"

namespace feedrate {
namespace {

// The end of a machine's try at a task.
struct End {
  double time = 0;
  size_t task = 0;
  bool failed = false;

  bool operator>(const End& other) const {
    return time != other.time ? time > other.time : task > other.task;
  }
};

class Simulator {
 public:
  Simulator(const Campaign& campaign, const std::vector<WaveTask>& tasks,
            const Quota& quota, const SimulationOptions& options)
      : campaign_(campaign),
        tasks_(tasks),
        quota_(quota),
        options_(options),
        random_(options.seed) {
    for (const WaveTask& task : tasks) left_s_.push_back(task.cost_s());
  }

  Simulation Run() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const bool starts_wave =
          i > 0 && campaign_.tasks[i].wave != campaign_.tasks[i - 1].wave;
      if (options_.in_waves && starts_wave) RunQueue();
      waiting_.push_back(i);
    }
    RunQueue();
    result_.makespan_s = now_;
    return result_;
  }

 private:
  // Until nothing waits and nothing runs.
  void RunQueue() {
    StartWhatFits();
    while (!running_.empty()) {
      const End end = running_.top();
      running_.pop();
      now_ = end.time;
      active_.erase(end.task);
      if (end.failed) waiting_.push_front(end.task);
      // A machine that is free takes the next task of its kind; the quota has
      // to be asked only when there is none.
      const auto next =
          std::find_if(waiting_.begin(), waiting_.end(), [&](size_t task) {
            return tasks_[task].machine_type() ==
                       tasks_[end.task].machine_type() &&
                   tasks_[task].zone() == tasks_[end.task].zone() &&
                   tasks_[task].disk_size_gb() <=
                       tasks_[end.task].disk_size_gb();
          });
      if (next != waiting_.end()) {
        const size_t task = *next;
        waiting_.erase(next);
        Begin(task);
      } else {
        StartWhatFits();
      }
    }
  }

  void StartWhatFits() {
    QuotaUse use(quota_);
    for (const size_t task : active_) use.TryAdd(tasks_[task]);
    std::set<std::string> held_up;
    std::deque<size_t> rest;
    for (const size_t task : waiting_) {
      const std::string& type = tasks_[task].machine_type();
      if (held_up.count(type) == 0 && use.TryAdd(tasks_[task]).empty()) {
        Begin(task);
      } else {
        held_up.insert(type);
        rest.push_back(task);
      }
    }
    waiting_ = std::move(rest);
  }

  // Seconds until the machine fails.
  double Life() {
    if (options_.failures_per_hour <= 0) return HUGE_VAL;
    std::exponential_distribution<double> life(options_.failures_per_hour /
                                               kSecondsPerHour);
    return life(random_);
  }

  void Begin(size_t task) {
    active_.insert(task);
    result_.machines =
        std::max(result_.machines, static_cast<int64_t>(active_.size()));
    const double setup_s = SetupSeconds(quota_);
    const double needed_s = setup_s + left_s_[task];
    const double life_s = Life();
    if (life_s >= needed_s) {
      result_.setup_s += setup_s;
      result_.work_s += left_s_[task];
      Account(task, needed_s);
      running_.push({now_ + needed_s, task, false});
      return;
    }
    ++result_.failures;
    const double saved_s = SavedSeconds(task, life_s - setup_s);
    result_.setup_s += std::min(setup_s, life_s);
    result_.work_s += saved_s;
    result_.lost_s += std::max(0.0, life_s - setup_s - saved_s);
    result_.dead_s += options_.detect_s;
    left_s_[task] -= saved_s;
    Account(task, life_s + options_.detect_s);
    running_.push({now_ + life_s + options_.detect_s, task, true});
  }

  // The part of `worked_s` in whole jobs that were done at the last copy.
  double SavedSeconds(size_t task, double worked_s) const {
    const double copied_s =
        std::floor(worked_s / options_.checkpoint_s) * options_.checkpoint_s;
    const double job_s =
        tasks_[task].cost_s() /
        static_cast<double>(std::max<int64_t>(1, tasks_[task].jobs()));
    if (copied_s <= 0 || job_s <= 0) return 0;
    return std::min(left_s_[task], std::floor(copied_s / job_s) * job_s);
  }

  void Account(size_t task, double seconds) {
    result_.machine_s += seconds;
    const MachineType& machine =
        *FindMachineType(quota_, tasks_[task].machine_type());
    if (!machine.has_price_per_hour() || result_.price < 0) {
      result_.price = -1;
    } else {
      result_.price += machine.price_per_hour() * seconds / kSecondsPerHour;
    }
  }

  const Campaign& campaign_;
  const std::vector<WaveTask>& tasks_;
  const Quota& quota_;
  const SimulationOptions& options_;
  std::mt19937_64 random_;
  // Work that is not safe yet, by task.
  std::vector<double> left_s_;
  std::deque<size_t> waiting_;
  std::set<size_t> active_;
  std::priority_queue<End, std::vector<End>, std::greater<End>> running_;
  double now_ = 0;
  Simulation result_;
};

// The machine of a task, with what the config leaves open.
absl::StatusOr<WaveTask> MachineOf(const CampaignTask& task,
                                   const RunConfig& config,
                                   const LoadedQuota& quota) {
  WaveTask machine;
  machine.set_cost_s(task.chunk.cost_s);
  machine.set_jobs(task.chunk.jobs);
  machine.set_zone(config.cloud().zone());
  machine.set_disk_size_gb(config.cloud().disk_size_gb());
  const MachineType* type =
      FindMachineType(quota.quota, config.cloud().machine_type());
  for (const MachineType& other : quota.quota.machine_types()) {
    const bool has_gpu = other.gpus() > 0;
    if (type == nullptr && has_gpu == (task.chunk.needs.gpus > 0)) {
      type = &other;
    }
  }
  if (type == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(quota.file, ": no machine type for ",
                     task.hardware_class(), " rows; add one"));
  }
  machine.set_machine_type(type->name());
  const std::string forbidden = QuotaUse(quota.quota).TryAdd(machine);
  if (forbidden.empty()) return machine;
  return absl::InvalidArgumentError(
      absl::StrCat(quota.file, ": one ", type->name(), " alone is over it (",
                   forbidden, ")"));
}

using Field = std::function<double(const Simulation&)>;
using Print = std::function<std::string(double)>;

// `name   median [least … most]`
std::string Line(const std::string& name, const std::vector<Simulation>& runs,
                 const Field& field, const Print& print) {
  std::vector<double> values;
  for (const Simulation& run : runs) values.push_back(field(run));
  std::sort(values.begin(), values.end());
  const std::string least = print(values.front());
  const std::string most = print(values.back());
  const std::string range =
      least == most ? "" : absl::StrCat("  [", least, " … ", most, "]");
  return absl::StrFormat("%-13s %s%s\n", name, print(values[values.size() / 2]),
                         range);
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f%%", 100 * share);
}

std::string Count(double count) {
  return absl::StrCat(static_cast<int64_t>(count));
}

std::string Describe(const std::vector<Simulation>& runs) {
  const auto share = [](double Simulation::*part) {
    return [part](const Simulation& s) { return s.*part / s.machine_s; };
  };
  std::string text = Line(
      "machines", runs, [](const auto& s) { return s.machines; }, Count);
  text += Line(
      "makespan", runs, [](const auto& s) { return s.makespan_s; },
      DurationText);
  text += Line(
      "machine time", runs, [](const auto& s) { return s.machine_s; },
      DurationText);
  text += Line(
      "utilization", runs, [](const auto& s) { return s.utilization(); },
      Percent);
  text += Line("set-up", runs, share(&Simulation::setup_s), Percent);
  text += Line("lost work", runs, share(&Simulation::lost_s), Percent);
  text += Line("dead", runs, share(&Simulation::dead_s), Percent);
  text += Line(
      "failures", runs, [](const auto& s) { return s.failures; }, Count);
  if (runs[0].price < 0) return text + "cost          no price in the quota\n";
  return text + Line(
                    "cost", runs, [](const auto& s) { return s.price; },
                    [](double v) { return absl::StrFormat("%.2f", v); });
}

}  // namespace

Simulation Simulate(const Campaign& campaign,
                    const std::vector<WaveTask>& tasks, const Quota& quota,
                    const SimulationOptions& options) {
  return Simulator(campaign, tasks, quota, options).Run();
}

absl::StatusOr<std::string> SimulateText(const PlanSession& session,
                                         const Campaign& campaign,
                                         const LoadedQuota& quota,
                                         const SimulationOptions& options,
                                         int repetitions) {
  std::vector<WaveTask> tasks;
  int64_t jobs = 0;
  for (const CampaignTask& task : campaign.tasks) {
    ASSIGN_OR_RETURN(
        tasks.emplace_back(),
        MachineOf(task, session.configs()[task.config].config, quota));
    jobs += task.chunk.jobs;
  }
  std::vector<Simulation> runs;
  // Without failures nothing is random.
  const int count = options.failures_per_hour > 0 ? repetitions : 1;
  for (int i = 0; i < count; ++i) {
    SimulationOptions run = options;
    run.seed = options.seed + i;
    runs.push_back(Simulate(campaign, tasks, quota.quota, run));
  }
  std::string text = absl::StrCat(
      Counted(jobs, "job"), " in ", Counted(tasks.size(), "task"), ", ",
      options.in_waves ? "wave by wave" : "one queue", ", ",
      options.failures_per_hour, " failures of a machine in an hour");
  if (count > 1) {
    absl::StrAppend(&text, "; median and range of ", count, " simulations");
  }
  return absl::StrCat(text, "\n\n", Describe(runs));
}

}  // namespace feedrate
