#include "lib/planning/tasks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RunConfig Config() {
  RunConfig config;
  EXPECT_TRUE(ParseTextProto("selection { scenario: \"s\" mode: \"micro\" } "
                             "cloud { zone: \"z-1-a\" disk_size_gb: 70 }",
                             "f", &config)
                  .ok());
  return config;
}

MachineType Machine(int gpus) {
  MachineType machine;
  machine.set_name(gpus > 0 ? "g2" : "c4");
  machine.set_gpus(gpus);
  return machine;
}

Job TheJob(const std::string& transform, double cost_s,
           const std::string& hardware = "cpu") {
  Job job;
  job.set_library("lib");
  job.set_transform(transform);
  job.set_cost_s(cost_s);
  job.set_hardware_class(hardware);
  return job;
}

// "first-last jobs/seconds" for each task.
std::vector<std::string> Cut(const std::vector<Job>& jobs, double max_task_s) {
  const RunConfig config = Config();
  const MachineType machine = Machine(0);
  TaskCutter cutter("c", config, machine, max_task_s);
  for (const Job& job : jobs) EXPECT_TRUE(cutter.Add(job).ok());
  std::vector<std::string> texts;
  for (const WaveTask& task : cutter.Finish()) {
    texts.push_back(absl::StrCat(task.first_transform(), "-",
                                 task.last_transform(), " ", task.jobs(), "/",
                                 task.cost_s()));
  }
  EXPECT_THAT(cutter.Finish(), IsEmpty());
  return texts;
}

TEST(TaskCutterTest, WhatFitsIsOneTask) {
  EXPECT_THAT(Cut({TheJob("A", 1), TheJob("A", 2), TheJob("B", 3)}, 6),
              ElementsAre("A-B 3/6"));
  EXPECT_THAT(Cut({}, 6), IsEmpty());
}

TEST(TaskCutterTest, CutsOnlyBetweenTransforms) {
  EXPECT_THAT(
      Cut({TheJob("A", 4), TheJob("A", 4), TheJob("B", 1), TheJob("C", 1)}, 5),
      ElementsAre("A-A 2/8", "B-C 2/2"));
  EXPECT_THAT(Cut({TheJob("A", 3), TheJob("B", 3), TheJob("C", 2)}, 5),
              ElementsAre("A-A 1/3", "B-C 2/5"));
}

// A sweep comes back to its first transform.
TEST(TaskCutterTest, PointsOfASweepCanBeCut) {
  EXPECT_THAT(
      Cut({TheJob("A", 3), TheJob("B", 3), TheJob("A", 3), TheJob("B", 3)}, 9),
      ElementsAre("A-A 3/9", "B-B 1/3"));
}

TEST(TaskCutterTest, ModesWithoutTransformsAreOneTask) {
  EXPECT_THAT(Cut({TheJob("", 3), TheJob("", 3)}, 4), ElementsAre("- 2/6"));
}

TEST(TaskCutterTest, TasksCarryTheMachine) {
  const RunConfig config = Config();
  const MachineType machine = Machine(1);
  TaskCutter cutter("c.textproto", config, machine, 9);
  // The host's CPU is on a GPU machine.
  ASSERT_TRUE(cutter.Add(TheJob("A", 1, "host_cpu")).ok());
  ASSERT_TRUE(cutter.Add(TheJob("A", 1, "gpu")).ok());
  const std::vector<WaveTask> tasks = cutter.Finish();
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(PrintTextProto(tasks[0]),
            "config: \"c.textproto\"\nmachine_type: \"g2\"\nzone: \"z-1-a\"\n"
            "disk_size_gb: 70\nhardware_class: \"gpu\"\nscenario: \"s\"\n"
            "mode: \"micro\"\nfirst_transform: \"A\"\nlast_transform: \"A\"\n"
            "jobs: 2\ncost_s: 2\n");
}

TEST(TaskCutterTest, RowsStayOnTheirKindOfMachine) {
  const RunConfig config = Config();
  const MachineType cpu = Machine(0), gpu = Machine(1);
  TaskCutter on_cpu("c", config, cpu, 9), on_gpu("c", config, gpu, 9);
  EXPECT_EQ(std::string(on_cpu.Add(TheJob("A", 1, "gpu")).message()),
            "c4 has no GPU, but lib jobs of this config "
            "are gpu rows; use a machine with a GPU");
  EXPECT_EQ(on_cpu.Add(TheJob("A", 1, "host_cpu")).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(on_gpu.Add(TheJob("A", 1, "cpu")).message()),
            "g2 has a GPU, but lib jobs of this config "
            "are cpu rows; use a machine without a GPU");
}

}  // namespace
}  // namespace feedrate
