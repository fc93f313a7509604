#include "lib/planning/emit/campaign.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/hash/sha256.h"
#include "lib/planning/plan_session.h"
#include "lib/planning/waves.h"
#include "lib/records/job.pb.h"

namespace feedrate {
namespace {

// Ten years, more than anybody waits for one task.
constexpr double kLongestTaskSeconds = 10 * 365 * 86400.0;

void Include(const Chunk& more, Chunk* chunk) {
  chunk->jobs += more.jobs;
  chunk->cost_s += more.cost_s;
  Include(more.needs, &chunk->needs);
}

// Whether jobs with these needs may share a task.
bool SameKind(const Needs& a, const Needs& b) {
  return a.gpus == b.gpus && a.nodes == b.nodes;
}

// Cuts groups [begin, end), which all want the same kind of machine.
void CutRange(const std::vector<Chunk>& groups, size_t begin, size_t end,
              double task_s, std::vector<Chunk>* chunks) {
  double total = 0;
  for (size_t i = begin; i < end; ++i) total += groups[i].cost_s;
  const double count = std::max(1.0, std::ceil(total / task_s));
  const double share = total / count;
  double sum = 0;
  double part = -1;
  for (size_t i = begin; i < end; ++i) {
    // The share that the middle of the group lies in. Unsupported jobs cost
    // nothing: a plan of nothing else is one chunk.
    const double middle = sum + groups[i].cost_s / 2;
    const double now =
        share > 0 ? std::min(count - 1, std::floor(middle / share)) : 0;
    sum += groups[i].cost_s;
    if (now == part) {
      Include(groups[i], &chunks->back());
    } else {
      chunks->push_back(groups[i]);
    }
    part = now;
  }
}

}  // namespace

void ChunkCutter::Add(const Job& job, const Needs& needs) {
  Chunk chunk;
  chunk.first_job = jobs_++;
  chunk.jobs = 1;
  chunk.cost_s = job.cost_s();
  chunk.needs = needs;
  const bool together = !groups_.empty() &&
                        last_transform_ == job.transform() &&
                        SameKind(groups_.back().needs, needs);
  last_transform_ = job.transform();
  if (together) {
    Include(chunk, &groups_.back());
  } else {
    groups_.push_back(chunk);
  }
}

std::vector<Chunk> ChunkCutter::Cut(double task_s) const {
  std::vector<Chunk> chunks;
  for (size_t begin = 0; begin < groups_.size();) {
    size_t end = begin + 1;
    while (end < groups_.size() &&
           SameKind(groups_[end].needs, groups_[begin].needs)) {
      ++end;
    }
    CutRange(groups_, begin, end, task_s, &chunks);
    begin = end;
  }
  return chunks;
}

namespace {

// Digits of the hash of all jobs in a campaign's id.
constexpr size_t kIdDigits = 12;

// Collects what makes two plans the same.
class IdMaker {
 public:
  void Add(const Job& job) {
    std::string text = job.job_id();
    for (const int run : job.run_indexes()) absl::StrAppend(&text, " ", run);
    text += "\n";
    hash_.Update(text.data(), text.size());
  }
  std::string Id() {
    char hex[Sha256::kHexSize + 1];
    hash_.FinishHex(hex);
    return absl::StrCat("feedrate-", std::string(hex, kIdDigits));
  }

 private:
  Sha256 hash_;
};

// Scenario and mode of a resolved config are known; a catalogue without them
// would have refused it.
std::string ToolOf(const Catalogue& catalogue, const RunConfig& config) {
  const Scenario* scenario =
      catalogue.FindScenario(config.selection().scenario());
  const ModePolicy* mode =
      catalogue.FindMode(config.selection().mode(), scenario->media());
  return mode == nullptr ? config.selection().mode() : mode->tool();
}

int StepOf(const PlanSession& session, const ResolvedConfig& config) {
  const Selection& selection = config.config.selection();
  return PaperStepOf(selection.scenario(), selection.mode(),
                     session.catalogue().policy());
}

// What an array's tasks have in common.
std::tuple<int, int, int> KindOf(const CampaignTask& task) {
  return {task.wave, task.chunk.needs.gpus, task.chunk.needs.nodes};
}

// Sorts tasks by wave and kind, numbers the waves from 1, gives names.
void NameTasks(std::vector<CampaignTask>* tasks) {
  std::stable_sort(tasks->begin(), tasks->end(),
                   [](const CampaignTask& a, const CampaignTask& b) {
                     return KindOf(a) < KindOf(b);
                   });
  std::set<int> steps;
  for (const CampaignTask& task : *tasks) steps.insert(task.wave);
  std::map<int, int> wave_of;
  for (const int step : steps) {
    wave_of.emplace(step, static_cast<int>(wave_of.size()) + 1);
  }
  std::map<std::pair<int, std::string>, int> numbers;
  for (CampaignTask& task : *tasks) {
    task.wave = wave_of[task.wave];
    task.name =
        absl::StrFormat("w%02d-%s-%05d", task.wave, task.hardware_class(),
                        ++numbers[{task.wave, task.hardware_class()}]);
  }
}

absl::Status CheckLength(const Chunk& chunk, const ResolvedConfig& config) {
  if (chunk.cost_s <= kLongestTaskSeconds) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: a task of %d jobs would take %.3g days; use fewer items or runs",
      config.loaded.path, chunk.jobs, chunk.cost_s / 86400));
}

absl::Status NothingToRun() {
  return absl::InvalidArgumentError(
      "nothing to run: every job of the plan is done or left out; "
      "--emit=table says why");
}

}  // namespace

absl::StatusOr<Campaign> ClusterCampaign(const PlanSession& session,
                                         double task_s) {
  const Catalogue& catalogue = session.catalogue();
  const CampaignPolicy& policy = catalogue.policy().campaign();
  Campaign campaign;
  IdMaker id;
  for (size_t i = 0; i < session.configs().size(); ++i) {
    const ResolvedConfig& config = session.configs()[i];
    ChunkCutter cutter;
    PlanOutput output;
    output.job = [&](const Job& job) {
      id.Add(job);
      ASSIGN_OR_RETURN(const Needs needs, NeedsOf(job, catalogue));
      cutter.Add(job, needs);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(session.Plan(config, output));
    for (const Chunk& chunk :
         cutter.Cut(task_s > 0 ? task_s : policy.task_s())) {
      RETURN_IF_ERROR(CheckLength(chunk, config));
      CampaignTask task;
      task.wave = StepOf(session, config);
      task.config = i;
      task.chunk = chunk;
      task.tool = ToolOf(catalogue, config.config);
      campaign.tasks.push_back(std::move(task));
    }
  }
  if (campaign.tasks.empty()) return NothingToRun();
  NameTasks(&campaign.tasks);
  campaign.id = id.Id();
  return campaign;
}

absl::StatusOr<Campaign> CloudCampaign(const PlanSession& session,
                                       const LoadedQuota& quota) {
  std::map<std::string, size_t> config_of;
  Campaign campaign;
  IdMaker id;
  for (size_t i = 0; i < session.configs().size(); ++i) {
    config_of.emplace(session.configs()[i].loaded.path, i);
    PlanOutput output;
    output.job = [&](const Job& job) {
      id.Add(job);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(session.Plan(session.configs()[i], output));
  }
  ASSIGN_OR_RETURN(std::vector<WaveTask> tasks, session.CloudTasks(quota));
  ASSIGN_OR_RETURN(
      const std::vector<Wave> waves,
      PackWaves(std::move(tasks), quota.quota, session.catalogue().policy()));
  campaign.price = 0;
  for (const Wave& wave : waves) {
    if (!wave.has_price()) campaign.price.reset();
    if (campaign.price.has_value()) *campaign.price += wave.price();
    for (const WaveTask& machine : wave.tasks()) {
      CampaignTask task;
      task.wave = wave.index();
      task.config = config_of[machine.config()];
      task.chunk.first_job = machine.first_job();
      task.chunk.jobs = machine.jobs();
      task.chunk.cost_s = machine.cost_s();
      RETURN_IF_ERROR(CheckLength(task.chunk, session.configs()[task.config]));
      task.chunk.needs.gpus = machine.hardware_class() == "gpu" ? 1 : 0;
      task.tool =
          ToolOf(session.catalogue(), session.configs()[task.config].config);
      task.machine_type = machine.machine_type();
      task.zone = machine.zone();
      task.disk_size_gb = machine.disk_size_gb();
      campaign.tasks.push_back(std::move(task));
    }
  }
  if (campaign.tasks.empty()) return NothingToRun();
  NameTasks(&campaign.tasks);
  campaign.id = id.Id();
  return campaign;
}

absl::Status ForEachCampaignJob(
    const PlanSession& session, const Campaign& campaign,
    const std::function<absl::Status(const CampaignTask&, const Job&)>& write) {
  for (size_t i = 0; i < session.configs().size(); ++i) {
    std::map<int64_t, const CampaignTask*> task_at;
    for (const CampaignTask& task : campaign.tasks) {
      if (task.config == i) task_at.emplace(task.chunk.first_job, &task);
    }
    int64_t number = 0;
    PlanOutput output;
    output.job = [&](const Job& job) {
      return write(*std::prev(task_at.upper_bound(number++))->second, job);
    };
    RETURN_IF_ERROR(session.Plan(session.configs()[i], output));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
