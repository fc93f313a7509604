#include "lib/machine/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/machine/testing/fake_root.h"
#include "lib/machine/timing_checks.h"

namespace feedrate {
namespace {

TEST(MachineTest, RecordedMachine) {
  const MachineInfo machine =
      ReadMachine(MachineBelow("lib/machine/testdata/container_v1"));
  EXPECT_EQ(machine.cpu.model, "Intel Xeon Processor (SapphireRapids)");
  EXPECT_EQ(machine.cpu.usable_cores, 4);
  EXPECT_EQ(machine.memory.total_bytes, int64_t{32874524} * 1024);
  EXPECT_EQ(machine.cgroup.version, 1);
  EXPECT_EQ(machine.cgroup.memory_limit_bytes, int64_t{4} << 30);
  EXPECT_EQ(machine.cgroup.cpus.size(), 4);
  EXPECT_EQ(machine.os.kernel, "5.4.0-150-generic");
  EXPECT_EQ(machine.hypervisor, "kvm");
  EXPECT_TRUE(machine.gpu.gpus.empty());
  EXPECT_EQ(machine.git.revision, "");
  EXPECT_EQ(machine.torch.version, "");
}

TEST(MachineTest, ThisMachineIsNotEmpty) {
  const MachineInfo machine = ReadMachine(ThisMachine());
  EXPECT_NE(machine.cpu.architecture, "");
  EXPECT_GT(machine.cpu.usable_cores, 0);
  EXPECT_GT(machine.memory.total_bytes, 0);
  EXPECT_NE(machine.os.kernel, "");
}

// Whatever a kernel, a container runtime or a half-copied tree puts into these
// files, reading them must end, without a crash and with numbers in bounds.
class DamagedFilesTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    files_.CopyMachine(GetParam());
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(files_.folder())) {
      if (!entry.is_regular_file()) continue;
      paths_.push_back(entry.path().string().substr(files_.folder().size()));
    }
    ASSERT_GT(paths_.size(), 10);
  }

  void ReadAll(const std::string& what) {
    const MachineInfo machine = ReadMachine(MachineBelow(files_.folder()));
    EXPECT_GE(machine.cpu.online_cores, 0) << what;
    EXPECT_LE(machine.cpu.usable_cores, 65536) << what;
    EXPECT_GE(machine.cpu.sockets, 1) << what;
    EXPECT_GE(machine.cpu.threads_per_core, 1) << what;
    EXPECT_GE(machine.memory.total_bytes, 0) << what;
    EXPECT_GT(machine.cgroup.cpu_quota.value_or(1), 0) << what;
    EXPECT_GT(machine.cgroup.memory_limit_bytes.value_or(1), 0) << what;
    EXPECT_EQ(
        CheckTiming(files_.root(), absl::ZeroDuration(), [](absl::Duration) {})
            .size(),
        16)
        << what;
  }

  FakeRoot files_;
  std::vector<std::string> paths_;
};

TEST_P(DamagedFilesTest, Truncated) {
  for (const std::string& path : paths_) {
    const std::string whole = *files_.root().Read(path);
    for (const size_t length : {size_t{0}, size_t{1}, whole.size() / 3,
                                whole.size() / 2, whole.size() - 1}) {
      files_.Write(path, whole.substr(0, length));
      ReadAll(absl::StrCat(path, " cut to ", length));
    }
    files_.Write(path, whole);
  }
}

TEST_P(DamagedFilesTest, Garbled) {
  std::mt19937 random(20240917);
  const std::string odd("\0\xff-9:/, \n\t[]=\\x", 16);
  for (const std::string& path : paths_) {
    const std::string whole = *files_.root().Read(path);
    for (int round = 0; round < 4; ++round) {
      std::string damaged = whole;
      for (int i = 0; i < 1 + damaged.size() / 8; ++i) {
        damaged[random() % damaged.size()] = odd[random() % odd.size()];
      }
      files_.Write(path, damaged);
      ReadAll(absl::StrCat(path, " garbled, round ", round));
    }
    files_.Write(path, std::string(5000, '9'));
    ReadAll(absl::StrCat(path, " all digits"));
    files_.Write(path, whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, DamagedFilesTest,
                         ::testing::Values("laptop", "container_v1",
                                           "container_v2"));

}  // namespace
}  // namespace feedrate
