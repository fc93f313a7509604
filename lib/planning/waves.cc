#include "lib/planning/waves.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/config/policy.pb.h"
#include "lib/config/quota.pb.h"
#include "lib/draw/text.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/quota_use.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr double kSetupSeconds = 600;
constexpr double kMaxTaskSeconds = 14400;
constexpr double kSecondsPerHour = 3600;

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
