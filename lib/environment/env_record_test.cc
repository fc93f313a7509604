#include "lib/environment/env_record.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

MachineInfo EveryField() {
  MachineInfo machine;
  machine.cpu = {"Neoverse-V2", "0x41-0xd4f", "aarch64", 0, 3, 4, 1, 1, 1,
                 {65536},       false};
  machine.memory = {int64_t{8} << 30, 5, 1};
  machine.cgroup = {2, 2.5, 4096, {0, 1, 2, 3}, 0};
  machine.gpu = {
      {{"NVIDIA H200", 150754820096, "9.0", 700.0}}, "580.65.06", "13.0", ""};
  machine.os = {"host-1", "6.1.0", "Debian 12", "2.36"};
  machine.torch = {"2.11.0+cu130", "/opt/torch"};
  machine.git = {"abc", true};
  machine.hypervisor = "kvm";
  return machine;
}

TEST(EnvRecordTest, EveryFieldArrives) {
  const absl::Time time = absl::FromUnixSeconds(1700000000);
  std::string json;
  AppendRecord(EnvRecord(EveryField(), time), &json);
  EXPECT_EQ(
      json,
      R"({"schema":1,"record":"env","env_id":"d5e3591b3f61b647",)"
      R"("machine_profile":"h200x1_driver580_cuda13.0_torch2.11_sm90",)"
      R"("host":"host-1","cpu":{"model":"Neoverse-V2",)"
      R"("architecture":"aarch64","x86_64_level":0,"usable_cores":3,)"
      R"("online_cores":4,"sockets":1,"threads_per_core":1,"numa_nodes":1,)"
      R"("cache_bytes":[65536],"hypervisor":"kvm"},)"
      R"("memory":{"total_bytes":8589934592,"swap_bytes":5},)"
      R"("cgroup":{"version":2,"cpu_quota":2.5,"memory_limit_bytes":4096,)"
      R"("cpuset_cores":4},"gpus":[{"name":"NVIDIA H200",)"
      R"("memory_bytes":150754820096,"compute_capability":"9.0",)"
      R"("power_limit_w":700}],"driver":"580.65.06","cuda":"13.0",)"
      R"("kernel":"6.1.0","os":"Debian 12",)"
      R"("libraries":{"glibc":"2.36","torch":"2.11.0+cu130"},)"
      R"("git":{"revision":"abc","dirty":true},"feedrate_version":"0.1.0",)"
      R"("collected_at":"2023-11-14T22:13:20Z"})"
      "\n");
}

TEST(EnvRecordTest, WhatIsNotKnownIsLeftOut) {
  const Env env = EnvRecord(MachineInfo(), absl::UnixEpoch());
  EXPECT_FALSE(env.cgroup().has_cpu_quota());
  EXPECT_FALSE(env.cgroup().has_memory_limit_bytes());
  EXPECT_FALSE(env.git().has_dirty());
  EXPECT_EQ(env.gpus_size(), 0);
  EXPECT_EQ(env.libraries().size(), 0);
}

TEST(EnvRecordTest, Check) {
  const EnvCheck record = EnvCheckRecord(
      {"turbo", CheckStatus::kWarn, "on", "it varies", "switch it off"});
  EXPECT_EQ(record.name(), "turbo");
  EXPECT_EQ(record.status(), "warn");
  EXPECT_EQ(record.observed(), "on");
  EXPECT_EQ(record.why(), "it varies");
  EXPECT_EQ(record.remedy(), "switch it off");
}

}  // namespace
}  // namespace feedrate
