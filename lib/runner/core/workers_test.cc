#include "lib/runner/core/workers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/hash/sha256.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/measured_process.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

  absl::StatusOr<std::string> Find(const std::string& library) const {
    return FindProgram(places_, NativeWorker(catalogue_, library));
  }

  const Catalogue catalogue_ = *Catalogue::Load("configs");
  const std::string root_ =
      testing::TempDir() + "/worker_command_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  WorkerPlaces places_;
};

TEST_F(WorkerCommandTest, FindsANativeWorkerInEitherLayout) {
  Write("/second/lib/adapters/opencv/worker_opencv", "", 0755);
  const auto program = Find("opencv");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(*program, root_ + "/second/lib/adapters/opencv/worker_opencv");
  Write("/first/worker_opencv", "", 0755);
  EXPECT_EQ(*Find("opencv"), root_ + "/first/worker_opencv");
}

TEST_F(WorkerCommandTest, SaysWhatToBuild) {
  Write("/first/worker_torch", "", 0644);  // Not a program.
  const absl::Status status = Find("torch").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("make torch, then dev/bazel.sh build "
                        "//lib/adapters/torch:worker_torch"));
}

TEST_F(WorkerCommandTest, ProgramsOnTheGpuNeedTheConfig) {
  for (const std::string library : {"cuda", "nvdec"}) {
    EXPECT_EQ(std::string(Find(library).status().message()),
              absl::StrCat("no program worker_", library,
                           "; in a checkout run: dev/bazel.sh build "
                           "--config=cuda "
                           "//lib/adapters/",
                           library, ":worker_", library));
  }
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

// Python is run from there.
TEST_F(WorkerCommandTest, AnEnvironmentThatOthersCanWriteIsRefused) {
  Write("/first/lib/adapters/python/server.py", "", 0644);
  Write("/configs/requirements/paper/pillow.lock", "pillow==1\n", 0644);
  const std::string name = absl::StrCat(
      "/venvs/pillow-", Sha256Hex("pillow==1\n").substr(0, 16), "-py3.11");
  Write(name + "/.complete", "", 0644);
  const auto error = [this] {
    return std::string(
        PythonWorker(places_, {"paper", "pillow", {"pillow"}, false, ""})
            .status()
            .message());
  };
  for (const std::string& path : {root_ + "/venvs", root_ + name}) {
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
    EXPECT_THAT(error(), HasSubstr(path + ": other users can write it"));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  EXPECT_EQ(error(), "");
  places_.environments = absl::InvalidArgumentError("no HOME");
  EXPECT_EQ(error(), "no HOME");
}

TEST_F(WorkerCommandTest, FindsTheEnvironmentOfALock) {
  Write("/first/lib/adapters/python/server.py", "", 0644);
  Write("/configs/requirements/paper/pillow.lock", "pillow==1\n", 0644);
  const std::string name = absl::StrCat(
      "/venvs/pillow-", Sha256Hex("pillow==1\n").substr(0, 16), "-py3.11");
  Write(name + "/bin/python", "", 0755);
  const auto error = [this] {
    return std::string(
        PythonWorker(places_, {"paper", "pillow", {"pillow"}, false, ""})
            .status()
            .message());
  };
  EXPECT_THAT(error(), HasSubstr("run: make envs GROUPS=pillow; in a bundle: "
                                 "feedrate envs pillow"));
  // From a wheel, which has no Makefile.
  setenv("FEEDRATE_COMMAND", "feedrate", 1);
  EXPECT_THAT(error(), EndsWith("run: feedrate envs pillow"));
  unsetenv("FEEDRATE_COMMAND");
  Write(name + "/.complete", "", 0644);
  const auto command =
      PythonWorker(places_, {"paper", "pillow", {"pillow"}, false, ""});
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
      std::string(
          PythonWorker(places_, {"current", "pillow", {"pillow"}, false, ""})
              .status()
              .message()),
      HasSubstr("make envs ENV_SET=current GROUPS=pillow; in a bundle: "
                "ENV_SET=current feedrate envs pillow"));
}

TEST(TreeWatchTest, SeesMemoryThatIsGoneAgain) {
  TreeWatch watch(getppid(), getpid(), 0);
  constexpr int64_t kBytes = int64_t{64} << 20;
  {
    std::vector<char> block(kBytes, 1);
    // The next reading may have begun before; the one after it sees everything.
    // How soon they come depends on the machine.
    const int64_t enough = watch.looks() + 2;
    while (watch.looks() < enough) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_EQ(block[kBytes / 2], 1);
  }
  const std::optional<int64_t> peak = watch.Stop();
  if (!peak.has_value()) GTEST_SKIP() << "/proc/PID/smaps is not readable";
  EXPECT_GE(*peak, kBytes);
}

TEST(TreeWatchTest, AShortOneHasALookToo) {
  TreeWatch watch(getppid(), getpid(), 0);
  const std::optional<int64_t> peak = watch.Stop();
  if (!peak.has_value()) GTEST_SKIP() << "/proc/PID/smaps is not readable";
  EXPECT_GT(*peak, 0);
  EXPECT_EQ(watch.Stop(), peak) << "stopping twice does no harm";
}

Row RowWith(double resident_fraction, bool cold) {
  Cache cache;
  cache.set_resident_fraction(resident_fraction);
  cache.set_bytes_read(7);
  Row row;
  SetCache(cache, cold, &row);
  return row;
}

TEST(SetCacheTest, ARowIsColdOnlyWhenThatIsProved) {
  EXPECT_THAT(RowWith(0, true).labels(), ElementsAre("cold"));
  EXPECT_THAT(RowWith(0.5, true).labels(), ElementsAre("partly_cold"));
  EXPECT_THAT(RowWith(1, true).labels(), ElementsAre("partly_cold"));
}

TEST(SetCacheTest, AndWarmOnlyWhenAllIsThere) {
  EXPECT_THAT(RowWith(1, false).labels(), IsEmpty());
  EXPECT_THAT(RowWith(0.5, false).labels(), ElementsAre("partly_cold"));
  EXPECT_THAT(RowWith(0, false).labels(), ElementsAre("partly_cold"));
  EXPECT_EQ(RowWith(0.5, false).cache().resident_fraction(), 0.5);
  EXPECT_EQ(RowWith(0.5, false).cache().bytes_read(), 7);
}

TEST(LookAtPagesTest, KeepsTheLargestShare) {
  const std::string path = JoinPath(::testing::TempDir(), "pages");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(1 << 16, 'x')).ok());
  Cache cache;
  ASSERT_TRUE(LookAtPages({path}, /*cold=*/false, &cache).ok());
  const double first = cache.resident_fraction();
  EXPECT_GT(first, 0) << "it was just written";
  // Whether pages are dropped depends on the file system; the row has the
  // largest share.
  ASSERT_TRUE(LookAtPages({path}, /*cold=*/true, &cache).ok());
  EXPECT_EQ(cache.resident_fraction(), first);
}

TEST(LookAtPagesTest, NamesAFileThatIsGone) {
  Cache cache;
  EXPECT_THAT(
      std::string(LookAtPages({"/no/such/shard"}, true, &cache).message()),
      HasSubstr("/no/such/shard"));
}

Equivalence Labeled(const std::string& label) {
  Equivalence equivalence;
  equivalence.set_label(label);
  equivalence.set_max_abs_diff(1.5);
  equivalence.set_reference("gaussian_blur size=5");
  return equivalence;
}

std::string FreshPath(const std::string& name) {
  return testing::TempDir() + "/" + name + std::to_string(getpid()) +
         "/equivalence.jsonl";
}

TEST(EquivalenceCacheTest, IsThereTheNextTime) {
  const std::string path = FreshPath("cache");
  {
    EquivalenceCache cache(path);
    EXPECT_EQ(cache.Find("a"), nullptr);
    cache.Add("a", Labeled("exact"));
    cache.Add("b", Labeled("different"));
    EXPECT_EQ(cache.Find("a")->label(), "exact");
  }
  const EquivalenceCache cache(path);
  ASSERT_NE(cache.Find("b"), nullptr);
  EXPECT_EQ(cache.Find("b")->label(), "different");
  EXPECT_EQ(cache.Find("b")->max_abs_diff(), 1.5);
  EXPECT_EQ(cache.Find("b")->reference(), "gaussian_blur size=5");
}

TEST(EquivalenceCacheTest, ATornLineCostsOnlyItself) {
  const std::string path = FreshPath("torn");
  EquivalenceCache(path).Add("a", Labeled("exact"));
  std::ofstream(path, std::ios::app) << "b\t{\"schema\":1,\"rec";
  EquivalenceCache(path).Add("c", Labeled("noop"));
  const EquivalenceCache cache(path);
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_NE(cache.Find("c"), nullptr);
}

TEST(EquivalenceCacheTest, WhereNothingCanBeWrittenItStillRemembers) {
  EquivalenceCache cache("/proc/nowhere/equivalence.jsonl");
  cache.Add("a", Labeled("exact"));
  EXPECT_NE(cache.Find("a"), nullptr);
}

}  // namespace
}  // namespace feedrate
