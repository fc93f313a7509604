#include "lib/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/machine/testing/fake_root.h"
#include "lib/machine/timing_checks.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OsTest, ReadsNames) {
  FakeRoot files;
  files.Write("/proc/sys/kernel/hostname", "bench-1\n");
  files.Write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  files.Write("/etc/os-release",
              "NAME=\"Debian GNU/Linux\"\n"
              "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  const OsInfo os = ReadOs(files.root());
  EXPECT_EQ(os.host, "bench-1");
  EXPECT_EQ(os.kernel, "6.1.0-18-amd64");
  EXPECT_EQ(os.distribution, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(os.glibc, "");
}

TEST(OsTest, DistributionWithoutAPrettyName) {
  FakeRoot files;
  files.Write("/usr/lib/os-release", "NAME='It'\nVERSION=\"1 \\\"x\\\"\"\n");
  EXPECT_EQ(ReadOs(files.root()).distribution, "It 1 \"x\"");
  files.Write("/etc/os-release", "NAME=Arch\n");
  EXPECT_EQ(ReadOs(files.root()).distribution, "Arch");
  files.Write("/etc/os-release", "PRETTY_NAME=\"");
  EXPECT_EQ(ReadOs(files.root()).distribution, "\"");
}

TEST(OsTest, AbsentIsEmpty) {
  FakeRoot files;
  EXPECT_EQ(ReadOs(files.root()).kernel, "");
  EXPECT_EQ(ReadOs(files.root()).distribution, "");
}

TEST(OsTest, ThisMachine) {
  utsname names;
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(ReadOs(Root()).kernel, names.release);
  EXPECT_EQ(ReadOs(Root()).host, names.nodename);
}

void Link(const FakeRoot& files, const char* target, const char* path) {
  files.Write(path, "");
  const std::string full = files.root().PathOf(path);
  unlink(full.c_str());
  ASSERT_EQ(symlink(target, full.c_str()), 0);
}

void AddDebianPython(const FakeRoot& files) {
  files.Write("/usr/bin/python3.11", "");
  Link(files, "python3.11", "/usr/bin/python3");
}

TEST(PythonFoldersTest, Debian) {
  FakeRoot files;
  AddDebianPython(files);
  EXPECT_THAT(
      PythonPackageFolders(files.root(),
                           FixedVariables({{"PATH", "/bin:/usr/bin"},
                                           {"HOME", "/home/me"},
                                           {"PYTHONPATH", "/extra:"}})),
      ElementsAre("/extra", "/home/me/.local/lib/python3.11/site-packages",
                  "/usr/local/lib/python3.11/dist-packages",
                  "/usr/lib/python3/dist-packages",
                  "/usr/lib/python3.11/site-packages",
                  "/usr/lib64/python3.11/site-packages"));
}

TEST(PythonFoldersTest, UsersPackagesSwitchedOff) {
  FakeRoot files;
  AddDebianPython(files);
  EXPECT_EQ(PythonPackageFolders(files.root(),
                                 FixedVariables({{"PATH", "/usr/bin"},
                                                 {"HOME", "/home/me"},
                                                 {"PYTHONNOUSERSITE", "1"}}))
                .front(),
            "/usr/local/lib/python3.11/dist-packages");
}

TEST(PythonFoldersTest, VirtualEnvironment) {
  FakeRoot files;
  AddDebianPython(files);
  Link(files, "../../usr/bin/python3", "/venv/bin/python3");
  files.Write("/venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = false\n");
  files.Write("/venv/lib/python3.11/site-packages/x", "");
  const VariableReader variables =
      FixedVariables({{"PATH", "/venv/bin:/usr/bin"}});
  EXPECT_THAT(PythonPackageFolders(files.root(), variables),
              ElementsAre("/venv/lib/python3.11/site-packages"));

  files.Write("/venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = true\n");
  EXPECT_THAT(PythonPackageFolders(files.root(), variables),
              ElementsAre("/venv/lib/python3.11/site-packages",
                          "/usr/local/lib/python3.11/dist-packages",
                          "/usr/lib/python3/dist-packages",
                          "/usr/lib/python3.11/site-packages",
                          "/usr/lib64/python3.11/site-packages"));
}

TEST(PythonFoldersTest, PyenvShims) {
  FakeRoot files;
  AddDebianPython(files);
  files.Write("/home/me/.pyenv/shims/python3", "#!/bin/sh\n");
  files.Write("/home/me/.pyenv/version", "3.12.4\n");
  files.Write("/home/me/.pyenv/versions/3.12.4/bin/python3.12", "");
  Link(files, "python3.12", "/home/me/.pyenv/versions/3.12.4/bin/python3");
  const std::string path = "/home/me/.pyenv/shims:/usr/bin";
  EXPECT_EQ(PythonPackageFolders(files.root(), FixedVariables({{"PATH", path}}))
                .front(),
            "/home/me/.pyenv/versions/3.12.4/lib/python3.12/site-packages");
  EXPECT_EQ(PythonPackageFolders(
                files.root(),
                FixedVariables({{"PATH", path}, {"PYENV_VERSION", "system"}}))
                .front(),
            "/usr/local/lib/python3.11/dist-packages");
}

TEST(PythonFoldersTest, NameWithoutAVersionTakesTheNewest) {
  FakeRoot files;
  files.Write("/opt/py/bin/python3", "");
  files.Write("/opt/py/lib/python3.9/x", "");
  files.Write("/opt/py/lib/python3.10/x", "");
  EXPECT_EQ(PythonPackageFolders(files.root(),
                                 FixedVariables({{"PATH", "/opt/py/bin"}}))
                .front(),
            "/opt/py/lib/python3.10/site-packages");
}

TEST(PythonFoldersTest, NoPython) {
  FakeRoot files;
  EXPECT_THAT(PythonPackageFolders(files.root(),
                                   FixedVariables({{"PATH", "/usr/bin:rel"}})),
              IsEmpty());
  EXPECT_THAT(PythonPackageFolders(files.root(), FixedVariables({})),
              IsEmpty());
}

class TorchTest : public ::testing::Test {
 protected:
  TorchTest() {
    files_.Write("/usr/bin/python3", "");
    files_.Write("/usr/lib/python3.11/os.py", "");
  }

  void AddTorch(const std::string& folder, const std::string& version) {
    files_.Write(folder + "/version.py",
                 "from typing import Optional\n\n__all__ = ['__version__']\n"
                 "__version__ = '" +
                     version + "'\ndebug = False\n");
  }

  TorchInfo Find(std::map<std::string, std::string> variables) {
    variables.insert({{"PATH", "/usr/bin"}, {"HOME", "/home/me"}});
    return FindTorch(files_.root(), FixedVariables(variables));
  }

  FakeRoot files_;
};

constexpr char kSystem[] = "/usr/local/lib/python3.11/dist-packages/torch";

TEST_F(TorchTest, NoneIsEmpty) { EXPECT_EQ(Find({}).version, ""); }

TEST_F(TorchTest, PythonsTorch) {
  AddTorch(kSystem, "2.11.0+cu130");
  EXPECT_EQ(Find({}).version, "2.11.0+cu130");
  EXPECT_EQ(Find({}).folder, kSystem);
}

TEST_F(TorchTest, OwnCopyComesBeforePythons) {
  AddTorch(kSystem, "2.5.1");
  const std::string cache = "/home/me/.cache/feedrate";
  AddTorch(cache + "/venvs/old-0-py3.11/lib/python3.11/site-packages/torch",
           "1.13.1");
  EXPECT_EQ(Find({}).version, "2.5.1") << "another release is not ours";
  AddTorch(cache + "/venvs/x-0-py3.11/lib/python3.11/site-packages/torch",
           "2.11.0+cpu");
  EXPECT_EQ(Find({}).version, "2.11.0+cpu");
  AddTorch(cache + "/libtorch/torch-0a1b-x86_64/torch", "2.11.0+cu130");
  EXPECT_EQ(Find({}).version, "2.11.0+cu130");
  EXPECT_EQ(Find({{"XDG_CACHE_HOME", "/elsewhere"}}).version, "2.5.1");
}

TEST_F(TorchTest, ReleaseIsTheBuilds) {
  const std::string script =
      Root("third_party/torch").Read("/find_torch.sh").value_or("");
  EXPECT_THAT(script,
              HasSubstr(absl::StrCat("\nversion=", kTorchVersion, "\n")));
}

TEST_F(TorchTest, TorchRootDecides) {
  AddTorch(kSystem, "2.5.1");
  AddTorch("/opt/torch", "2.11.0");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/torch"}}).version, "2.11.0");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/none"}}).version, "");
}

TEST_F(TorchTest, CppDistribution) {
  files_.Write("/opt/libtorch/build-version", "2.11.0+cpu\n");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/libtorch"}}).version, "2.11.0+cpu");
}

TEST_F(TorchTest, WithoutVersionFilesTheFolderBesideTells) {
  files_.Write("/opt/wheels/torch/lib/libc10.so", "");
  files_.Write("/opt/wheels/torch-2.11.0.dist-info/METADATA", "");
  files_.Write("/opt/wheels/torchvision-0.26.0.dist-info/METADATA", "");
  EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/wheels/torch"}}).version, "2.11.0");
}

TEST_F(TorchTest, GarbledVersionsAreNone) {
  for (const char* text : {"", "__version__", "__version__ = 2", "\0\1",
                           "__version__ = ''", "__version__ = 'a b'"}) {
    files_.Write("/opt/torch/version.py", text);
    EXPECT_EQ(Find({{"TORCH_ROOT", "/opt/torch"}}).version, "") << text;
  }
}

TEST(MachineTest, RecordedMachine) {
  const MachineInfo machine =
      ReadMachine(MachineBelow(RecordedMachine("container_v1").PathOf("/")));
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

// Whatever a kernel, a container runtime or an incomplete copy puts into these
// files, reading them must end without a crash and with numbers in range.
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
