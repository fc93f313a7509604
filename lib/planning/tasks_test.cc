#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/places.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/waves.h"
#include "lib/records/job.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RunConfig CloudConfig() {
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
  const RunConfig config = CloudConfig();
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
  const RunConfig config = CloudConfig();
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
  const RunConfig config = CloudConfig();
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

constexpr char kMachines[] =
    "name: \"q\" "
    "machine_types { name: \"c4\" family: \"c4\" vcpus: 16 "
    "disk_type: \"hyperdisk\" } "
    "machine_types { name: \"g2\" family: \"g2\" vcpus: 8 gpus: 2 } ";

Quota TheQuota(const std::string& limits) {
  Quota quota;
  EXPECT_TRUE(
      ParseTextProto(absl::StrCat(kMachines, limits), "q", &quota).ok());
  return quota;
}

WaveTask Task(const std::string& machine, const std::string& zone = "eu-w1-a",
              int disk = 100) {
  WaveTask task;
  task.set_machine_type(machine);
  task.set_zone(zone);
  task.set_disk_size_gb(disk);
  return task;
}

TEST(QuotaUseTest, CountsUntilTheLimit) {
  const Quota quota = TheQuota("limits { resource: \"vcpus\" amount: 40 }");
  QuotaUse use(quota);
  EXPECT_EQ(use.TryAdd(Task("c4")), "");
  EXPECT_EQ(use.TryAdd(Task("c4")), "");
  EXPECT_EQ(use.TryAdd(Task("c4")), "40 vCPU: 32 used, one more c4 needs 16");
  // A refused machine took nothing; a smaller one still fits.
  EXPECT_EQ(use.TryAdd(Task("g2")), "");
  EXPECT_EQ(use.TryAdd(Task("g2")), "40 vCPU: 40 used, one more g2 needs 8");
}

TEST(QuotaUseTest, LimitsOfAFamilyOrADiskLeaveOthersAlone) {
  const Quota quota = TheQuota(
      "limits { resource: \"vcpus\" family: \"c4\" amount: 16 } "
      "limits { resource: \"disk_gb\" disk_type: \"hyperdisk\" amount: 150 }");
  QuotaUse use(quota);
  EXPECT_EQ(use.TryAdd(Task("c4", "eu-w1-a", 151)),
            "150 GB of hyperdisk: 0 used, one more c4 needs 151");
  EXPECT_EQ(use.TryAdd(Task("c4")), "");
  EXPECT_EQ(use.TryAdd(Task("c4")),
            "16 vCPU of c4: 16 used, one more c4 needs 16");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(use.TryAdd(Task("g2")), "");
}

TEST(QuotaUseTest, RegionsCountForThemselvesWhereTheLimitSaysSo) {
  const Quota quota = TheQuota(
      "limits { resource: \"machines\" amount: 1 per_region: true } "
      "limits { resource: \"gpus\" amount: 4 }");
  QuotaUse use(quota);
  EXPECT_EQ(use.TryAdd(Task("g2", "eu-w1-a")), "");
  EXPECT_EQ(use.TryAdd(Task("g2", "eu-w1-b")),
            "1 machines in a region: 1 used, one more g2 needs 1");
  EXPECT_EQ(use.TryAdd(Task("g2", "us-w1-b")), "");
  EXPECT_EQ(use.TryAdd(Task("g2", "as-w1-b")),
            "4 GPU: 4 used, one more g2 needs 2");
}

TEST(QuotaUseTest, RegionOfZone) {
  EXPECT_EQ(RegionOfZone("us-central1-a"), "us-central1");
}

TEST(FindMachineTypeTest, ByName) {
  const Quota quota = TheQuota("");
  EXPECT_EQ(FindMachineType(quota, "g2")->gpus(), 2);
  EXPECT_EQ(FindMachineType(quota, "g3"), nullptr);
}

std::string QuotaError(const std::string& text) {
  Quota quota;
  Places places("q");
  EXPECT_TRUE(ParseTextProto(text, "q", &quota, &places).ok());
  return std::string(CheckQuota(quota, FieldChecker(places)).message());
}

TEST(CheckQuotaTest, ErrorsHaveThePlace) {
  EXPECT_EQ(QuotaError(kMachines), "");
  EXPECT_EQ(QuotaError(""), "q: name: is missing; give the quota a name");
  EXPECT_EQ(QuotaError("name: \"q\""),
            "q: machine_types: is missing; describe at least one");
  EXPECT_EQ(QuotaError("name: \"q\"\nmachine_types { family: \"f\" vcpus: 1 }"),
            "q:2:1: machine_types[0].name: is missing; write one such as "
            "c4-standard-16");
  EXPECT_EQ(QuotaError("name: \"q\"\nmachine_types { name: \"m\" vcpus: 1 }"),
            "q:2:1: machine_types[0].family: is missing; write one such as c4");
  const auto machine = [](const std::string& more) {
    return QuotaError(absl::StrCat(
        "name: \"q\" machine_types { name: \"m\" family: \"f\"\n", more, "}"));
  };
  EXPECT_EQ(machine("vcpus: 0"),
            "q:2:1: machine_types[0].vcpus: 0 is not possible; use at least 1");
  EXPECT_EQ(machine("gpus: -1 vcpus: 1"),
            "q:2:1: machine_types[0].gpus: -1 is not possible; use at least 0");
  EXPECT_EQ(machine("price_per_hour: nan vcpus: 1"),
            "q:2:1: machine_types[0].price_per_hour: nan is not possible; use "
            "at least 0");
  const auto more = [](const std::string& text) {
    return QuotaError(absl::StrCat(kMachines, "\n", text));
  };
  EXPECT_EQ(more("machine_types { name: \"c4\" family: \"x\" vcpus: 1 }"),
            "q:2:1: machine_types[2]: \"c4\" is listed twice");
  EXPECT_EQ(more("limits { amount: 1 }"),
            "q:2:1: limits[0].resource: is missing; use one of vcpus, gpus, "
            "disk_gb, machines");
  EXPECT_EQ(more("limits { resource: \"vcpu\" amount: 1 }"),
            "q:2:10: limits[0].resource: \"vcpu\" is unknown; did you mean "
            "\"vcpus\"?");
  EXPECT_EQ(more("limits { resource: \"vcpus\" }"),
            "q:2:1: limits[0].amount: is missing; write a number from 0");
  EXPECT_EQ(more("limits { amount: -1 resource: \"vcpus\" }"),
            "q:2:10: limits[0].amount: -1 is not possible; use at least 0");
  EXPECT_EQ(more("setup_s: -1"),
            "q:2:1: setup_s: -1 is not possible; use at least 0");
  EXPECT_EQ(more("max_task_s: 0"),
            "q:2:1: max_task_s: 0 is not possible; use a number above 0");
}

}  // namespace
}  // namespace feedrate
