#include "lib/runner/worker_command.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WorkerCommandTest : public testing::Test {
 protected:
  WorkerCommandTest() {
    places_.folders = {root_ + "/first", root_ + "/second"};
    places_.environments = root_ + "/venvs";
    places_.configs = root_ + "/configs";
  }

  void Write(const std::string& path, const std::string& text, int mode) {
    const std::string full = root_ + path;
    ASSERT_TRUE(MakeFolder(ParentFolder(full)).ok());
    std::ofstream(full) << text;
    chmod(full.c_str(), mode);
  }

  const std::string root_ =
      testing::TempDir() + "/worker_command_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  WorkerPlaces places_;
};

TEST_F(WorkerCommandTest, FindsANativeWorkerInEitherLayout) {
  Write("/second/lib/adapters/opencv/worker_opencv", "", 0755);
  auto command = NativeWorker(places_, "opencv");
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->argv,
              ElementsAre(root_ + "/second/lib/adapters/opencv/worker_opencv"));
  Write("/first/worker_opencv", "", 0755);
  EXPECT_THAT(NativeWorker(places_, "opencv")->argv,
              ElementsAre(root_ + "/first/worker_opencv"));
}

TEST_F(WorkerCommandTest, SaysWhatToBuild) {
  Write("/first/worker_torch", "", 0644);  // Not a program.
  const absl::Status status = NativeWorker(places_, "torch").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("make torch, then dev/bazel.sh build "
                        "//lib/adapters/torch:worker_torch"));
}

TEST_F(WorkerCommandTest, OurLoaderIsBesideItsLibrary) {
  EXPECT_THAT(std::string(NativeWorker(places_, "native").status().message()),
              HasSubstr("build //lib/loader/worker:worker_native"));
  Write("/first/lib/loader/worker/worker_native", "", 0755);
  EXPECT_THAT(NativeWorker(places_, "native")->argv,
              ElementsAre(root_ + "/first/lib/loader/worker/worker_native"));
}

TEST_F(WorkerCommandTest, LoadersShareThePackagesOfAnotherGroup) {
  Write("/first/lib/adapters/python/server.py", "", 0644);
  for (const char* group : {"pillow", "torch_stack"}) {
    const std::string lock = absl::StrCat(group, "==1\n");
    Write(absl::StrCat("/configs/requirements/paper/", group, ".lock"), lock,
          0644);
    if (std::string(group) == "torch_stack") continue;
    Write(absl::StrCat("/venvs/", group, "-", Sha256Hex(lock).substr(0, 16),
                       "-py3.11/.complete"),
          "", 0644);
  }
  const PythonServer server = {
      "paper", "pillow", {"pillow"}, /*loader=*/true, "torch_stack"};
  EXPECT_THAT(std::string(PythonWorker(places_, server).status().message()),
              HasSubstr("environment \"torch_stack\""));
  const std::string packages =
      absl::StrCat("/venvs/torch_stack-",
                   Sha256Hex("torch_stack==1\n").substr(0, 16), "-py3.11");
  Write(packages + "/.complete", "", 0644);
  const auto command = PythonWorker(places_, server);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->argv[3], "--loader");
  EXPECT_EQ(command->argv[4], absl::StrCat("--packages=", root_, packages));
}

TEST_F(WorkerCommandTest, FindsTheEnvironmentOfALock) {
  Write("/first/lib/adapters/python/server.py", "", 0644);
  Write("/configs/requirements/paper/pillow.lock", "pillow==1\n", 0644);
  const std::string name = absl::StrCat(
      "/venvs/pillow-", Sha256Hex("pillow==1\n").substr(0, 16), "-py3.11");
  Write(name + "/bin/python", "", 0755);
  const auto unfinished =
      PythonWorker(places_, {"paper", "pillow", {"pillow"}});
  EXPECT_THAT(std::string(unfinished.status().message()),
              HasSubstr("run: make envs"));
  Write(name + "/.complete", "", 0644);
  const auto command = PythonWorker(places_, {"paper", "pillow", {"pillow"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->argv,
              ElementsAre(root_ + name + "/bin/python",
                          root_ + "/first/lib/adapters/python/server.py",
                          "--libraries=pillow"));
  EXPECT_EQ(command->environment.at("NO_ALBUMENTATIONS_UPDATE"), "1");
}

TEST_F(WorkerCommandTest, AnotherSetIsNamedInTheRemedy) {
  Write("/first/lib/adapters/python/server.py", "", 0644);
  Write("/configs/requirements/current/pillow.lock", "pillow==2\n", 0644);
  EXPECT_THAT(
      std::string(PythonWorker(places_, {"current", "pillow", {"pillow"}})
                      .status()
                      .message()),
      HasSubstr("make envs ENV_SET=current"));
}

}  // namespace
}  // namespace feedrate
