#include "lib/environment/env_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string IdOf(const FakeRoot& files) {
  return EnvId(ReadMachine(MachineBelow(files.folder())));
}

TEST(EnvIdTest, Golden) {
  // Changes only with the recipe; then every stored id is stale.
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

}  // namespace
}  // namespace feedrate
