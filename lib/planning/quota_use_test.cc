#include "lib/planning/quota_use.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/config/field_checker.h"
#include "lib/config/places.h"
#include "lib/config/quota.pb.h"
#include "lib/config/text_proto.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

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

std::string ErrorOf(const std::string& text) {
  Quota quota;
  Places places("q");
  EXPECT_TRUE(ParseTextProto(text, "q", &quota, &places).ok());
  return std::string(CheckQuota(quota, FieldChecker(places)).message());
}

TEST(CheckQuotaTest, ErrorsHaveThePlace) {
  EXPECT_EQ(ErrorOf(kMachines), "");
  EXPECT_EQ(ErrorOf(""), "q: name: is missing; give the quota a name");
  EXPECT_EQ(ErrorOf("name: \"q\""),
            "q: machine_types: is missing; describe at least one");
  EXPECT_EQ(ErrorOf("name: \"q\"\nmachine_types { family: \"f\" vcpus: 1 }"),
            "q:2:1: machine_types[0].name: is missing; write one such as "
            "c4-standard-16");
  EXPECT_EQ(ErrorOf("name: \"q\"\nmachine_types { name: \"m\" vcpus: 1 }"),
            "q:2:1: machine_types[0].family: is missing; write one such as c4");
  const auto machine = [](const std::string& more) {
    return ErrorOf(absl::StrCat(
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
    return ErrorOf(absl::StrCat(kMachines, "\n", text));
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
