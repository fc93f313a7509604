#include "lib/environment/env_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <random>

#include "absl/strings/ascii.h"
#include "lib/machine/testing/fake_root.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Name {
  const char* full;
  const char* shortened;
};

TEST(CpuNameTest, KnownNames) {
  const Name names[] = {
      {"Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "xeon-8481c"},
      {"INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.30GHz", "xeon-8581c"},
      {"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "xeon-6338"},
      {"Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "xeon-e5-2690-v4"},
      {"Intel(R) Xeon(R) CPU Max 9480", "xeon-max-9480"},
      {"Intel(R) Xeon(R) 6985P-C", "xeon-6985p-c"},
      {"Intel(R) Xeon(R) CPU @ 2.20GHz", "xeon-2.20ghz"},
      {"Intel(R) Xeon(R) Processor @ 2.30GHz", "xeon-2.30ghz"},
      {"Intel(R) Xeon(R) Platinum", "xeon-platinum"},
      {"Intel Xeon Processor (SapphireRapids)", "xeon-sapphirerapids"},
      {"Intel Xeon Processor (Skylake, IBRS)", "xeon-skylake"},
      {"Intel Core Processor (Broadwell, no TSX, IBRS)", "core-broadwell"},
      {"13th Gen Intel(R) Core(TM) i7-1360P", "i7-1360p"},
      {"Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz", "i9-9900k"},
      {"Intel(R) Core(TM) Ultra 7 155H", "core-ultra-7-155h"},
      {"Intel(R) Core(TM)2 Duo CPU     E8400  @ 3.00GHz", "core2-duo-e8400"},
      {"Intel(R) Atom(TM) CPU C3758 @ 2.20GHz", "atom-c3758"},
      {"Intel(R) Pentium(R) Silver N5000 CPU @ 1.10GHz",
       "pentium-silver-n5000"},
      {"AMD EPYC 9B45 64-Core Processor", "epyc-9b45"},
      {"AMD EPYC 7B13", "epyc-7b13"},
      {"AMD EPYC-Milan Processor", "epyc-milan"},
      {"AMD EPYC Processor (with IBPB)", "epyc"},
      {"AMD Ryzen 9 7950X 16-Core Processor", "ryzen-9-7950x"},
      {"AMD Ryzen 7 PRO 6850U with Radeon Graphics", "ryzen-7-pro-6850u"},
      {"AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "ryzen-ai-9-hx-370"},
      {"AMD FX(tm)-8350 Eight-Core Processor", "fx-8350"},
      {"AMD Opteron(tm) Processor 6376", "opteron-6376"},
      {"Neoverse-V2", "neoverse-v2"},
      {"Azure Cobalt 100", "azure-cobalt-100"},
      {"ARM-0x41-0xfff", "arm-0x41-0xfff"},
      {"Apple M4", "apple-m4"},
      {"POWER9, altivec supported", "power9"},
      {"QEMU Virtual CPU version 2.5+", "qemu-2.5"},
      {"Common KVM processor", "common-kvm"},
      {"DO-Premium-Intel", "do-premium-intel"},
      {"", "cpu"},
      {"Virtual CPU", "cpu"},
      {"_/@#", "cpu"},
  };
  for (const Name& name : names) {
    EXPECT_EQ(ShortCpuName(name.full), name.shortened) << name.full;
  }
}

TEST(CpuNameTest, AnyTextGivesOnePlainWord) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string model(random() % 40, '\0');
    for (char& c : model) c = static_cast<char>(random());
    const std::string name = ShortCpuName(model);
    ASSERT_FALSE(name.empty());
    for (const char c : name) {
      ASSERT_TRUE(absl::ascii_islower(c) || absl::ascii_isdigit(c) ||
                  c == '.' || c == '-')
          << name;
    }
  }
}

TEST(GpuNameTest, KnownNames) {
  const Name names[] = {
      {"NVIDIA H200", "h200"},
      {"NVIDIA L4", "l4"},
      {"Tesla T4", "t4"},
      {"NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"},
      {"NVIDIA H100 80GB HBM3", "h100-80gb-hbm3"},
      {"NVIDIA H100 PCIe", "h100-pcie"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"", "gpu"},
  };
  for (const Name& name : names) {
    EXPECT_EQ(ShortGpuName(name.full), name.shortened) << name.full;
  }
}

std::string ProfileOf(const FakeRoot& files) {
  return MachineProfile(ReadMachine(MachineBelow(files.folder())));
}

std::string RecordedProfile(const char* machine) {
  FakeRoot files;
  files.CopyMachine(machine);
  return ProfileOf(files);
}

TEST(ProfileTest, RecordedMachines) {
  EXPECT_EQ(RecordedProfile("xeon_vm_16"), "xeon-8481c_16c_x86-64");
  EXPECT_EQ(RecordedProfile("epyc_server"), "epyc-9b45_256c_x86-64");
  EXPECT_EQ(RecordedProfile("graviton_vm"), "neoverse-v2_4c_aarch64");
  EXPECT_EQ(RecordedProfile("laptop"), "i7-1360p_16c_x86-64");
  EXPECT_EQ(RecordedProfile("container_v2"), "epyc-7b13_3c_x86-64");
  EXPECT_EQ(RecordedProfile("container_v1"), "xeon-sapphirerapids_4c_x86-64");
}

TEST(ProfileTest, TasksetMakesNoOtherMachine) {
  FakeRoot files;
  files.CopyMachine("xeon_vm_16");
  files.Write("/proc/self/status", "Cpus_allowed_list:\t3\n");
  EXPECT_EQ(ProfileOf(files), "xeon-8481c_16c_x86-64");
}

TEST(ProfileTest, FamilyAloneGetsTheModelNumber) {
  MachineInfo machine;
  machine.cpu.model = "Intel(R) Xeon(R) Processor";
  machine.cpu.signature = "GenuineIntel-6-207-2";
  machine.cpu.architecture = "x86-64";
  machine.cpu.x86_64_level = 4;
  machine.cpu.online_cores = 16;
  EXPECT_EQ(MachineProfile(machine), "xeon-m207_16c_x86-64");
  machine.cpu.model = "Intel(R) Xeon(R) CPU @ 2.20GHz";
  EXPECT_EQ(MachineProfile(machine), "xeon-2.20ghz_16c_x86-64");
}

TEST(ProfileTest, NothingKnown) {
  EXPECT_EQ(MachineProfile(MachineInfo()), "cpu");
}

MachineInfo GpuMachine() {
  MachineInfo machine;
  machine.gpu.driver = "580.65.06";
  machine.gpu.cuda = "13.0";
  machine.gpu.gpus = {{"NVIDIA H200", 1, "9.0", 700.0}};
  machine.torch.version = "2.11.0+cu130";
  return machine;
}

TEST(ProfileTest, Gpu) {
  EXPECT_EQ(MachineProfile(GpuMachine()),
            "h200x1_driver580_cuda13.0_torch2.11_sm90");
}

TEST(ProfileTest, WithoutTorchItIsLeftOut) {
  MachineInfo machine = GpuMachine();
  machine.torch.version = "";
  EXPECT_EQ(MachineProfile(machine), "h200x1_driver580_cuda13.0_sm90");
}

TEST(ProfileTest, SeveralGpus) {
  MachineInfo machine = GpuMachine();
  machine.gpu.gpus.push_back(machine.gpu.gpus[0]);
  EXPECT_EQ(MachineProfile(machine),
            "h200x2_driver580_cuda13.0_torch2.11_sm90");
  machine.gpu.gpus.push_back({"NVIDIA L4", 1, "8.9", std::nullopt});
  EXPECT_EQ(MachineProfile(machine),
            "h200x2+l4x1_driver580_cuda13.0_torch2.11_sm90+sm89");
  machine.gpu.gpus = {{"NVIDIA B200", 1, "10.0", std::nullopt}};
  EXPECT_EQ(MachineProfile(machine),
            "b200x1_driver580_cuda13.0_torch2.11_sm100");
}

std::string IdOf(const FakeRoot& files) {
  return EnvId(ReadMachine(MachineBelow(files.folder())));
}

TEST(EnvIdTest, Golden) {
  // This id changes only with the recipe; then every stored id is stale.
  FakeRoot files;
  files.CopyMachine("xeon_vm_16");
  EXPECT_EQ(EnvIdText(ReadMachine(MachineBelow(files.folder()))),
            "feedrate env 1\n"
            "cpu.model=Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\n"
            "cpu.signature=GenuineIntel-6-143-8\n"
            "cpu.architecture=x86-64\n"
            "cpu.x86_64_level=4\n"
            "cpu.cores=16\n"
            "cpu.online_cores=16\n"
            "cpu.sockets=1\n"
            "cpu.threads_per_core=2\n"
            "cpu.numa_nodes=1\n"
            "cpu.cache_bytes=49152,2097152,110100480\n"
            "memory.gib=59\n"
            "driver=\n"
            "cuda=\n"
            "kernel=6.1.0-18-cloud-amd64\n");
  EXPECT_EQ(IdOf(files), "eaeee34c9b9cae46");
}

TEST(EnvIdTest, DoesNotChangeWithClocksLoadOrNames) {
  FakeRoot files;
  files.CopyMachine("laptop");
  const std::string id = IdOf(files);
  std::string cpuinfo = *files.root().Read("/proc/cpuinfo");
  const std::string clock = "891.442";
  for (size_t at; (at = cpuinfo.find(clock)) != std::string::npos;) {
    cpuinfo.replace(at, clock.size(), "4987.001");
  }
  files.Write("/proc/cpuinfo", cpuinfo);
  files.Write("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
              "4987001\n");
  files.Write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
              "performance\n");
  files.Write("/proc/loadavg", "63.12 60.00 51.00 70/200 1234\n");
  files.Write("/proc/stat", "cpu 9 9 9 9 9 9 9 9 9 9\nprocs_running 70\n");
  files.Write("/proc/sys/kernel/hostname", "renamed\n");
  files.Write("/proc/self/status", "Cpus_allowed_list:\t3\n");
  files.Write("/proc/meminfo", "MemTotal: 32546000 kB\nSwapTotal: 0 kB\n");
  EXPECT_EQ(IdOf(files), id);
}

TEST(EnvIdTest, ChangesWithEachPartOfTheSetUp) {
  MachineInfo machine;
  machine.cpu.online_cores = 8;
  machine.gpu.gpus = {{"NVIDIA H200", 1, "9.0", 700.0}};
  const std::string id = EnvId(machine);
  const std::function<void(MachineInfo*)> changes[] = {
      [](MachineInfo* m) { m->cpu.model = "x"; },
      [](MachineInfo* m) { m->cpu.signature = "GenuineIntel-6-207-2"; },
      [](MachineInfo* m) { m->cpu.online_cores = 4; },
      [](MachineInfo* m) { m->cpu.cache_bytes = {1}; },
      [](MachineInfo* m) { m->cgroup.cpu_quota = 2; },
      [](MachineInfo* m) { m->memory.total_bytes = int64_t{64} << 30; },
      [](MachineInfo* m) { m->gpu.gpus[0].name = "NVIDIA L4"; },
      [](MachineInfo* m) { m->gpu.gpus.push_back(m->gpu.gpus[0]); },
      [](MachineInfo* m) { m->gpu.driver = "580.65.06"; },
      [](MachineInfo* m) { m->gpu.cuda = "13.0"; },
      [](MachineInfo* m) { m->os.kernel = "6.1"; },
      [](MachineInfo* m) { m->os.glibc = "2.36"; },
      [](MachineInfo* m) { m->torch.version = "2.11.0"; },
  };
  for (int i = 0; i < std::size(changes); ++i) {
    MachineInfo other = machine;
    changes[i](&other);
    EXPECT_NE(EnvId(other), id) << "change " << i;
  }
}

TEST(EnvIdTest, DoesNotChangeWithWhatIsNoSetUp) {
  MachineInfo machine;
  machine.gpu.gpus = {{"NVIDIA H200", 1, "9.0", 700.0}};
  MachineInfo other = machine;
  other.gpu.gpus[0].power_limit_w = 350.0;
  other.git.revision = "abc";
  other.git.dirty = true;
  other.os.host = "x";
  other.cgroup.memory_limit_bytes = 5;
  other.memory.swap_bytes = 5;
  other.cpu.usable_cores = 1;
  EXPECT_EQ(EnvId(machine), EnvId(other));
}

TEST(EnvIdTest, LibrariesAreThoseThatAreThere) {
  MachineInfo machine;
  EXPECT_THAT(Libraries(machine), IsEmpty());
  machine.os.glibc = "2.36";
  machine.torch.version = "2.11.0+cu130";
  EXPECT_THAT(Libraries(machine), ElementsAre(Pair("glibc", "2.36"),
                                              Pair("torch", "2.11.0+cu130")));
}

TEST(EnvIdTest, ALineBreakInAValueIsNoLine) {
  MachineInfo a, b;
  a.os.kernel = "x\nlibrary.torch=2";
  b.os.kernel = "x";
  b.torch.version = "2";
  EXPECT_NE(EnvId(a), EnvId(b));
}

MachineInfo EveryField() {
  MachineInfo machine;
  machine.cpu = {"Neoverse-V2", "0x41-0xd4f", "aarch64", 0, 3, 4, 1, 1, 1,
                 {65536},       false};
  machine.memory = {int64_t{8} << 30, 5, 1};
  machine.cgroup = {2, 2.5, 4096, {0, 1, 2, 3}, 0};
  machine.gpu = {{{"NVIDIA H200", 150754820096, "9.0", 700.0, true, false}},
                 "580.65.06",
                 "13.0",
                 ""};
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
      R"("power_limit_w":700,"ecc":true,"mig":false}],)"
      R"("driver":"580.65.06","cuda":"13.0",)"
      R"("kernel":"6.1.0","os":"Debian 12",)"
      R"("libraries":{"glibc":"2.36","torch":"2.11.0+cu130"},)"
      R"("git":{"revision":"abc","dirty":true},"feedrate_version":"0.1.0",)"
      R"("collected_at":"2023-11-14T22:13:20Z"})"
      "\n");
}

TEST(EnvRecordTest, GpusThatDoNotAnswerAreNoMachineWithoutGpus) {
  MachineInfo machine;
  EXPECT_FALSE(EnvRecord(machine, absl::UnixEpoch()).has_gpu_problem());
  machine.gpu.problem = "driver/library version mismatch";
  EXPECT_EQ(EnvRecord(machine, absl::UnixEpoch()).gpu_problem(),
            "driver/library version mismatch");
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
