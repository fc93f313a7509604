#include "lib/planning/waves.h"

#include <random>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/text_proto.h"
#include "lib/planning/testing.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Quota PaperQuota() {
  Quota quota;
  EXPECT_TRUE(ReadTextProto("configs/quotas/paper.textproto", &quota).ok());
  return quota;
}

const MachineType& MachineOf(const Quota& quota, const WaveTask& task) {
  for (const MachineType& machine : quota.machine_types()) {
    if (machine.name() == task.machine_type()) return machine;
  }
  ADD_FAILURE() << "no machine type " << task.machine_type();
  return quota.machine_types(0);
}

// What one machine takes from a limit. Written again here, from the schema's
// words, so that the packing is not judged by its own arithmetic.
int64_t Demand(const QuotaLimit& limit, const Quota& quota,
               const WaveTask& task) {
  const MachineType& machine = MachineOf(quota, task);
  if (!limit.family().empty() && limit.family() != machine.family()) return 0;
  if (!limit.disk_type().empty() && limit.disk_type() != machine.disk_type()) {
    return 0;
  }
  return std::map<std::string, int64_t>{{"vcpus", machine.vcpus()},
                                        {"gpus", machine.gpus()},
                                        {"disk_gb", task.disk_size_gb()},
                                        {"machines", 1}}
      .at(limit.resource());
}

std::string Region(const WaveTask& task) {
  const std::string zone = task.zone();
  return zone.substr(0, zone.find_last_of('-'));
}

// Whether the tasks are within every limit at the same time.
bool Respects(const Quota& quota, const std::vector<WaveTask>& tasks) {
  for (const QuotaLimit& limit : quota.limits()) {
    std::map<std::string, int64_t> sums;
    for (const WaveTask& task : tasks) {
      const int64_t demand = Demand(limit, quota, task);
      sums[limit.per_region() ? Region(task) : ""] += demand;
    }
    for (const auto& [region, sum] : sums) {
      if (sum > limit.amount()) return false;
    }
  }
  return true;
}

int StepOf(const WaveTask& task) {
  const std::vector<std::pair<std::string, std::string>> order = {
      {"image-rgb", "micro"}, {"image-rgb", "pipeline"},
      {"image-9ch", "micro"}, {"image-9ch", "pipeline"},
      {"video-16f", "micro"}, {"video-16f", "pipeline"}};
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i].first == task.scenario() && order[i].second == task.mode()) {
      return static_cast<int>(i);
    }
  }
  return static_cast<int>(order.size());
}

std::vector<WaveTask> TasksOf(const Wave& wave) {
  return {wave.tasks().begin(), wave.tasks().end()};
}

// Everything that must hold of waves, whatever the quota. `tasks` have
// distinct configs.
void CheckWaves(const std::vector<WaveTask>& tasks, const Quota& quota,
                const std::vector<Wave>& waves) {
  std::map<std::string, int> given;
  for (size_t i = 0; i < tasks.size(); ++i) {
    given[tasks[i].config()] = static_cast<int>(i);
  }
  std::set<std::string> seen;
  // By machine type: the step and number of the last task that started.
  std::map<std::string, std::pair<int, int>> last;
  for (size_t w = 0; w < waves.size(); ++w) {
    const Wave& wave = waves[w];
    EXPECT_EQ(wave.index(), static_cast<int>(w));
    EXPECT_FALSE(wave.tasks().empty());
    EXPECT_TRUE(Respects(quota, TasksOf(wave))) << wave.DebugString();
    for (const WaveTask& task : wave.tasks()) {
      EXPECT_TRUE(seen.insert(task.config()).second) << "twice";
      const std::pair<int, int> turn = {StepOf(task), given.at(task.config())};
      auto [before, is_first] = last.try_emplace(task.machine_type(), turn);
      EXPECT_TRUE(is_first || before->second < turn) << "overtaken";
      before->second = turn;
      EXPECT_GE(wave.duration_s(), SetupSeconds(quota) + task.cost_s());
    }
    // Each type that had to wait has a limit that its next task would break.
    std::set<std::string> waiting;
    for (size_t later = w + 1; later < waves.size(); ++later) {
      for (const WaveTask& task : waves[later].tasks()) {
        if (!waiting.insert(task.machine_type()).second) continue;
        std::vector<WaveTask> with = TasksOf(wave);
        with.push_back(task);
        EXPECT_FALSE(Respects(quota, with)) << "waited for nothing";
      }
    }
    EXPECT_EQ(wave.binding_quotas_size(), static_cast<int>(waiting.size()));
    for (const std::string& type : waiting) {
      int named = 0;
      for (const std::string& text : wave.binding_quotas()) {
        named += absl::StrContains(text, absl::StrCat("more ", type, " needs"));
      }
      EXPECT_EQ(named, 1) << type;
    }
  }
  EXPECT_EQ(seen.size(), tasks.size()) << "lost";
}

// Random quotas over the machine types of the paper and random tasks.
class Random {
 public:
  explicit Random(int seed) : engine_(seed) {}

  int Below(int bound) {
    return std::uniform_int_distribution<int>(0, bound - 1)(engine_);
  }
  template <typename T>
  const T& Of(const std::vector<T>& values) {
    return values[Below(static_cast<int>(values.size()))];
  }

  Quota TheQuota() {
    Quota quota;
    quota.set_name("random");
    for (int i = 0; i < 1 + Below(5); ++i) {
      MachineType* machine = quota.add_machine_types();
      machine->set_name(absl::StrCat("m", i));
      machine->set_family(Of(Families()));
      machine->set_vcpus(1 << Below(6));
      machine->set_gpus(Of(std::vector<int>{0, 0, 1, 2}));
      if (Below(3) > 0) machine->set_disk_type(Of(Disks()));
      if (Below(2) > 0) machine->set_price_per_hour(Below(10) / 4.0);
    }
    for (int i = 0; i < Below(5); ++i) AddLimit(&quota);
    if (Below(2) > 0) quota.set_setup_s(Below(1000));
    return quota;
  }

  std::vector<WaveTask> Tasks(const Quota& quota) {
    std::vector<WaveTask> tasks(Below(25));
    for (size_t i = 0; i < tasks.size(); ++i) {
      WaveTask& task = tasks[i];
      task.set_config(absl::StrCat("config", i));
      task.set_machine_type(
          quota.machine_types(Below(quota.machine_types_size())).name());
      task.set_zone(Of(std::vector<std::string>{
          "us-central1-a", "us-central1-b", "eu-west4-a", "asia-east1-c"}));
      task.set_disk_size_gb(20 + 10 * Below(20));
      task.set_scenario(Of(std::vector<std::string>{
          "image-rgb", "image-9ch", "video-16f", "video-decode-16f"}));
      task.set_mode(Of(std::vector<std::string>{"micro", "pipeline"}));
      task.set_jobs(1 + Below(100));
      task.set_cost_s(Below(10000));
    }
    return tasks;
  }

 private:
  static std::vector<std::string> Families() { return {"c4", "c4d", "g2"}; }
  static std::vector<std::string> Disks() {
    return {"hyperdisk", "persistent"};
  }

  void AddLimit(Quota* quota) {
    QuotaLimit* limit = quota->add_limits();
    limit->set_resource(
        Of(std::vector<std::string>{"vcpus", "gpus", "disk_gb", "machines"}));
    if (Below(3) == 0) limit->set_family(Of(Families()));
    if (Below(3) == 0) limit->set_disk_type(Of(Disks()));
    if (Below(2) == 0) limit->set_per_region(true);
    const int most = limit->resource() == "disk_gb" ? 900
                     : limit->resource() == "vcpus" ? 130
                                                    : 5;
    limit->set_amount(Below(most));
  }

  std::mt19937 engine_;
};

TEST(PackWavesPropertyTest, RandomQuotasAndTasks) {
  int packed = 0, refused = 0, waited = 0;
  for (int seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    const Quota quota = random.TheQuota();
    const std::vector<WaveTask> tasks = random.Tasks(quota);
    bool each_fits = true;
    for (const WaveTask& task : tasks) {
      each_fits = each_fits && Respects(quota, {task});
    }
    const auto waves = PackWaves(tasks, quota, CheckedInCatalogue().policy());
    ASSERT_EQ(waves.ok(), each_fits) << waves.status();
    if (!waves.ok()) {
      EXPECT_THAT(std::string(waves.status().message()),
                  HasSubstr("alone is over the quota"));
      ++refused;
      continue;
    }
    CheckWaves(tasks, quota, *waves);
    ++packed;
    waited += waves->size() > 1;
    if (HasFailure()) return;
  }
  // The generator must reach all of it.
  EXPECT_GT(packed, 1000);
  EXPECT_GT(refused, 500);
  EXPECT_GT(waited, 500);
}

// The tasks of the paper's configs, cut for `quota`.
std::vector<WaveTask> PaperTasks(const std::vector<std::string>& paths,
                                 const Quota& quota) {
  std::vector<WaveTask> tasks;
  for (const std::string& path : paths) {
    const Planned planned = PlanFile(path);
    EXPECT_TRUE(planned.status.ok()) << planned.status;
    WaveTask asked;
    asked.set_machine_type(planned.config.cloud().machine_type());
    TaskCutter cutter(path, planned.config, MachineOf(quota, asked),
                      MaxTaskSeconds(quota));
    for (const Job& job : planned.jobs) EXPECT_TRUE(cutter.Add(job).ok());
    for (WaveTask& task : cutter.Finish()) {
      // Parts of a config get names of their own, for CheckWaves.
      task.set_config(absl::StrCat(path, "#", tasks.size()));
      tasks.push_back(task);
    }
  }
  return tasks;
}

std::vector<std::string> PaperConfigs() {
  std::vector<std::string> paths;
  for (const std::string& path : CheckedInConfigs()) {
    if (absl::StrContains(path, "/paper/")) paths.push_back(path);
  }
  return paths;
}

TEST(PackWavesPaperTest, TheWholePaperRespectsItsQuota) {
  const Quota quota = PaperQuota();
  const std::vector<WaveTask> tasks = PaperTasks(PaperConfigs(), quota);
  EXPECT_GE(tasks.size(), 22u);
  const auto waves = PackWaves(tasks, quota, CheckedInCatalogue().policy());
  ASSERT_TRUE(waves.ok()) << waves.status();
  CheckWaves(tasks, quota, *waves);
  for (const Wave& wave : *waves) {
    int gpus = 0;
    for (const WaveTask& task : wave.tasks()) {
      gpus += task.hardware_class() == "gpu";
      EXPECT_EQ(task.hardware_class() == "gpu",
                absl::StartsWith(task.machine_type(), "g2-"));
    }
    EXPECT_LE(gpus, 1);
  }
}

TEST(PackWavesPaperTest, TheWholePaperUnderRandomQuotas) {
  int packed = 0;
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    Quota quota = PaperQuota();
    quota.set_max_task_s(600 + random.Below(20000));
    for (QuotaLimit& limit : *quota.mutable_limits()) {
      limit.set_amount(limit.amount() / 4 +
                       random.Below(static_cast<int>(limit.amount()) * 3));
      limit.set_per_region(random.Below(2) > 0);
    }
    static const auto& configs = *new std::vector<std::string>(PaperConfigs());
    // Planning all of it each time would take minutes.
    const std::vector<WaveTask> tasks =
        PaperTasks({configs[random.Below(configs.size())],
                    configs[random.Below(configs.size())],
                    configs[random.Below(configs.size())]},
                   quota);
    const auto waves = PackWaves(tasks, quota, CheckedInCatalogue().policy());
    bool each_fits = true;
    for (const WaveTask& task : tasks) {
      each_fits = each_fits && Respects(quota, {task});
    }
    ASSERT_EQ(waves.ok(), each_fits) << waves.status();
    if (waves.ok()) CheckWaves(tasks, quota, *waves), ++packed;
    if (HasFailure()) return;
  }
  EXPECT_GT(packed, 100);
}

// 16 of 128 vCPU and 16 of 96 of their family each: six would fit, were it not
// for the disks.
TEST(PackWavesPaperTest, FiveC4AtOnceNotSix) {
  const Quota quota = PaperQuota();
  std::vector<std::string> paths;
  for (const char* name :
       {"prod_c4_rgb_micro_cpu", "prod_c4_rgb_dataloader_cpu",
        "prod_c4_9ch_micro_cpu", "prod_c4_9ch_dataloader_cpu",
        "prod_c4_video_micro_cpu", "prod_c4_video_dataloader_cpu"}) {
    paths.push_back(PaperConfig(name));
  }
  const auto waves =
      PackWaves(PaperTasks(paths, quota), quota, CheckedInCatalogue().policy());
  ASSERT_TRUE(waves.ok()) << waves.status();
  ASSERT_GT(waves->size(), 1);
  EXPECT_THAT((*waves)[0].tasks(), SizeIs(5));
  EXPECT_THAT((*waves)[0].binding_quotas(),
              ElementsAre("500 GB of hyperdisk: 500 used, one more "
                          "c4-standard-16 needs 100"));
  EXPECT_EQ(waves->back().tasks().rbegin()->mode(), "pipeline");
  EXPECT_THAT(waves->back().binding_quotas(), IsEmpty());
}

Quota OneMachine(const std::string& more) {
  Quota quota;
  EXPECT_TRUE(ParseTextProto(
                  absl::StrCat("name: \"q\" setup_s: 100 machine_types { name: "
                               "\"m\" family: \"f\" vcpus: 4 } ",
                               more),
                  "q", &quota)
                  .ok());
  return quota;
}

WaveTask OneTask(const std::string& config, double cost_s) {
  WaveTask task;
  task.set_config(config);
  task.set_machine_type("m");
  task.set_zone("us-central1-a");
  task.set_disk_size_gb(50);
  task.set_cost_s(cost_s);
  task.set_jobs(3);
  task.set_first_transform("A");
  task.set_last_transform("B");
  return task;
}

TEST(PackWavesTest, AMachineThatFitsNowhereIsAnError) {
  const auto waves =
      PackWaves({OneTask("a", 1)},
                OneMachine("limits { resource: \"vcpus\" amount: 3 }"), {});
  EXPECT_EQ(waves.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(waves.status().message()),
            "a: one m alone is over the quota (3 vCPU: 0 used, one more m "
            "needs 4); use a smaller machine or disk");
}

TEST(PackWavesTest, PricesOnlyWhereAllMachinesHaveOne) {
  Quota quota = OneMachine("");
  const std::vector<WaveTask> tasks = {OneTask("a", 3500), OneTask("b", 1700)};
  auto waves = PackWaves(tasks, quota, {});
  ASSERT_TRUE(waves.ok());
  ASSERT_THAT(*waves, SizeIs(1));
  EXPECT_FALSE((*waves)[0].has_price());
  EXPECT_EQ((*waves)[0].duration_s(), 3600);
  EXPECT_THAT(WavesText(*waves), Not(HasSubstr("in all")));
  quota.mutable_machine_types(0)->set_price_per_hour(2);
  waves = PackWaves(tasks, quota, {});
  ASSERT_TRUE(waves.ok());
  // An hour of one and half an hour of the other.
  EXPECT_DOUBLE_EQ((*waves)[0].price(), 3);
  EXPECT_THAT(WavesText(*waves), HasSubstr("ETA 1:00:00, 3.00 in all\n"));
}

TEST(PackWavesTest, NoTasksNoWaves) {
  const auto waves = PackWaves({}, OneMachine(""), {});
  ASSERT_TRUE(waves.ok());
  EXPECT_THAT(*waves, IsEmpty());
  EXPECT_EQ(WavesText(*waves), "0 waves, 0 jobs, ETA 0 s\n");
}

TEST(WavesTextTest, Golden) {
  const auto waves =
      PackWaves({OneTask("dir/a.textproto", 3500), OneTask("b", 50)},
                OneMachine("limits { resource: \"machines\" amount: 1 }"), {});
  ASSERT_TRUE(waves.ok());
  EXPECT_EQ(WavesText(*waves), R"(Wave 1: 1 x m, 1:00:00
config  machine  zone            disk  jobs  estimate  transforms
─────────────────────────────────────────────────────────────────
a       m        us-central1-a  50 GB     3     58:20  A … B
quota that binds: 1 machines: 1 used, one more m needs 1

Wave 2: 1 x m, 2:30
config  machine  zone            disk  jobs  estimate  transforms
─────────────────────────────────────────────────────────────────
b       m        us-central1-a  50 GB     3      50 s  A … B

2 waves, 6 jobs, ETA 1:02:30
)");
}

TEST(QuotaDefaultsTest, OfTheSchema) {
  EXPECT_EQ(SetupSeconds(Quota()), 600);
  EXPECT_EQ(MaxTaskSeconds(Quota()), 14400);
  EXPECT_EQ(SetupSeconds(OneMachine("")), 100);
}

}  // namespace
}  // namespace feedrate
