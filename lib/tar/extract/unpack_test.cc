#include "lib/tar/extract/unpack.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/tar/builder.h"
#include "lib/tar/extract/safe_path.h"
#include "lib/tar/extract/unpack_testing.h"
#include "lib/tar/test_archives.h"

namespace feedrate::tar {
namespace {

std::string Placed(std::string_view name, int strip = 0) {
  const PlacedName placed = PlaceName(name, strip);
  EXPECT_EQ(placed.refusal, nullptr) << name;
  EXPECT_EQ(placed.skip, Skip::kNone) << name;
  return placed.path;
}

TEST(PlaceName, TidiesWithoutChangingTheMeaning) {
  EXPECT_EQ(Placed("a/b"), "a/b");
  EXPECT_EQ(Placed("./a//b/./c/"), "a/b/c");
  EXPECT_EQ(Placed("./"), "");
  EXPECT_EQ(Placed("..."), "...");
  EXPECT_EQ(Placed("..a/b.."), "..a/b..");
}

TEST(PlaceName, StripsLeadingParts) {
  EXPECT_EQ(Placed("a/b/c", 1), "b/c");
  EXPECT_EQ(Placed("./a//b/c", 2), "c");
  EXPECT_EQ(PlaceName("a/", 1).skip, Skip::kStripped);
  EXPECT_EQ(PlaceName("a/b", 5).skip, Skip::kStripped);
}

TEST(PlaceName, RefusesWhatCouldLeave) {
  for (const char* name : {"/", "/a", "//a", "..", "../a", "a/..", "a/../b",
                           "./../a", "a/b/../.."}) {
    EXPECT_NE(PlaceName(name, 0).refusal, nullptr) << name;
    // Stripping must not hide a dangerous name.
    EXPECT_NE(PlaceName(name, 2).refusal, nullptr) << name;
  }
}

TEST(PlaceName, RefusesHarmEvenInLitter) {
  EXPECT_NE(PlaceName("__MACOSX/../../a", 0).refusal, nullptr);
  EXPECT_NE(PlaceName("../._a", 0).refusal, nullptr);
}

TEST(PlaceName, KnowsLitterAnywhere) {
  EXPECT_EQ(PlaceName(".DS_Store", 0).skip, Skip::kDsStore);
  EXPECT_EQ(PlaceName("a/.DS_Store", 0).skip, Skip::kDsStore);
  EXPECT_EQ(PlaceName("a/._b", 0).skip, Skip::kAppleDouble);
  EXPECT_EQ(PlaceName("._a/b", 0).skip, Skip::kAppleDouble);
  EXPECT_EQ(PlaceName("a/.AppleDouble/b", 0).skip, Skip::kAppleDouble);
  EXPECT_EQ(PlaceName("__MACOSX/a/b", 1).skip, Skip::kMacosx);
  EXPECT_EQ(Placed("a/b._c"), "a/b._c");
  EXPECT_EQ(Placed(".DS_Store2"), ".DS_Store2");
}

TEST(PlaceName, NeverTakesOurOwnFiles) {
  EXPECT_EQ(PlaceName(".stage_dataset.done", 0).skip, Skip::kStageFile);
  EXPECT_EQ(PlaceName("./a/.stage_dataset.journal", 1).skip, Skip::kStageFile);
  EXPECT_EQ(PlaceName(".stage_dataset.done/a/b", 0).skip, Skip::kStageFile);
  EXPECT_EQ(PlaceName(".STAGE_DataSet.done", 0).skip, Skip::kStageFile);
  EXPECT_EQ(Placed(".stage_dataset"), ".stage_dataset");
  EXPECT_EQ(Placed("a/.stage_dataset.done"), "a/.stage_dataset.done");
}

TEST(SymlinkRefusal, LetsLinksClimbNoHigherThanTheRoot) {
  EXPECT_EQ(SymlinkRefusal("l", "a/b"), nullptr);
  EXPECT_EQ(SymlinkRefusal("l", "."), nullptr);
  EXPECT_EQ(SymlinkRefusal("d/l", "../a"), nullptr);
  EXPECT_EQ(SymlinkRefusal("d/e/l", "../..//./a/b/"), nullptr);
  EXPECT_NE(SymlinkRefusal("l", ".."), nullptr);
  EXPECT_NE(SymlinkRefusal("d/l", "../../a"), nullptr);
  EXPECT_NE(SymlinkRefusal("d/l", "./.././../a"), nullptr);
  EXPECT_NE(SymlinkRefusal("l", "/a"), nullptr);
}

TEST(SymlinkRefusal, RefusesToClimbBehindAName) {
  EXPECT_NE(SymlinkRefusal("d/e/l", "a/.."), nullptr);
  EXPECT_NE(SymlinkRefusal("d/e/l", "../a/../b"), nullptr);
}

namespace fs = std::filesystem;

class SafeRootTest : public testing::TestWithParam<bool> {
 protected:
  SafeRootTest() {
    root_ = testing::TempDir() + "/root.XXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
    fs::create_directories(root_ + "/dir/a/b");
    fs::create_directory(root_ + "/outside");
    fs::create_directory_symlink("a", root_ + "/dir/link");
    fs::create_directory_symlink("../outside", root_ + "/dir/out");
    close(open((root_ + "/dir/file").c_str(), O_CREAT | O_WRONLY, 0600));
    root_fd_ = open((root_ + "/dir").c_str(), O_PATH | O_DIRECTORY);
  }
  ~SafeRootTest() override {
    close(root_fd_);
    fs::remove_all(root_);
  }

  // Returns 0, or the errno of opening `path`.
  int Error(const std::string& path) {
    const SafeRoot root(root_fd_, GetParam());
    const int fd = root.OpenFolder(path);
    if (fd < 0) return errno;
    close(fd);
    return 0;
  }

  std::string root_;
  int root_fd_;
};

TEST_P(SafeRootTest, OpensFolders) {
  EXPECT_EQ(Error(""), 0);
  EXPECT_EQ(Error("a"), 0);
  EXPECT_EQ(Error("a/b"), 0);
  EXPECT_EQ(Error("a/c"), ENOENT);
}

TEST_P(SafeRootTest, FollowsNoLink) {
  for (const char* path : {"link", "link/b", "out", "out/x"}) {
    const int error = Error(path);
    EXPECT_TRUE(error == ELOOP || error == ENOTDIR) << path << " " << error;
  }
}

TEST_P(SafeRootTest, TakesNoFileForAFolder) {
  EXPECT_EQ(Error("file"), ENOTDIR);
  EXPECT_EQ(Error("file/x"), ENOTDIR);
}

INSTANTIATE_TEST_SUITE_P(Calls, SafeRootTest, testing::Bool());

// Makes openat2 fail as on Linux before 5.6.
bool ForbidOpenat2() {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {4, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(SafeRoot, DoesWithoutOpenat2OnOldKernels) {
  const std::string root = testing::TempDir() + "/old_kernel";
  fs::create_directories(root + "/a/b");
  fs::create_directory_symlink("a", root + "/link");
  const int root_fd = open(root.c_str(), O_PATH | O_DIRECTORY);
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidOpenat2()) _exit(77);
    const SafeRoot root(root_fd);
    const bool good = root.OpenFolder("a/b") >= 0;
    const bool refused = root.OpenFolder("link/b") < 0;
    _exit(good && refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(root_fd);
  fs::remove_all(root);
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "this kernel has no seccomp filters: openat2 cannot be "
                    "taken away for the test";
  }
  EXPECT_EQ(status, 0);
}

constexpr uint64_t kMegabyte = 1 << 20;

class Recorder : public WrittenPrefixListener {
 public:
  bool OnFinished(uint64_t offset) override {
    told.push_back(offset);
    return true;
  }
  std::vector<uint64_t> told;
};

TEST(WrittenPrefix, WaitsForTheEarliestSpan) {
  Recorder recorder;
  WrittenPrefix written(&recorder);
  auto first = written.Open(10 * kMegabyte, {});
  auto second = written.Open(20 * kMegabyte, {});
  auto third = written.Open(30 * kMegabyte, {});
  second.reset();
  EXPECT_TRUE(recorder.told.empty());
  first.reset();
  EXPECT_EQ(recorder.told, std::vector<uint64_t>({20 * kMegabyte}));
  third.reset();
  EXPECT_EQ(recorder.told.back(), 30 * kMegabyte);
}

TEST(WrittenPrefix, IsFinishedOnlyWithTheLastReference) {
  Recorder recorder;
  WrittenPrefix written(&recorder);
  auto span = written.Open(10 * kMegabyte, {});
  auto part = span;
  span.reset();
  EXPECT_TRUE(recorder.told.empty());
  part.reset();
  EXPECT_EQ(recorder.told.size(), 1u);
}

TEST(WrittenPrefix, TellsNothingOnceFrozen) {
  Recorder recorder;
  WrittenPrefix written(&recorder);
  auto span = written.Open(10 * kMegabyte, {});
  written.Freeze();
  span.reset();
  EXPECT_TRUE(recorder.told.empty());
  written.WaitUntilClear();
}

TEST(WrittenPrefix, TellsNowAndThenOfSmallFiles) {
  Recorder recorder;
  WrittenPrefix written(&recorder);
  for (uint64_t i = 1; i <= 100; ++i) written.Open(i * 512, {});
  EXPECT_GE(recorder.told.size(), 2u);
  EXPECT_LE(recorder.told.size(), 20u);
}

TEST(WrittenPrefix, KnowsTheNamesInTheWorks) {
  WrittenPrefix written(nullptr);
  auto one = written.Open(1, {7, 8});
  auto two = written.Open(2, {8});
  EXPECT_TRUE(written.IsOpen(7));
  one.reset();
  EXPECT_FALSE(written.IsOpen(7));
  EXPECT_TRUE(written.IsOpen(8));
  two.reset();
  EXPECT_FALSE(written.IsOpen(8));
}

TEST(WrittenPrefix, WaitsUntilAllThreadsAreThrough) {
  Recorder recorder;
  WrittenPrefix written(&recorder);
  std::vector<std::thread> threads;
  for (int i = 1; i <= 8; ++i) {
    auto span = written.Open(10 * kMegabyte * i, {});
    threads.emplace_back([span = std::move(span)]() mutable {
      std::this_thread::yield();
      span.reset();
    });
  }
  written.WaitUntilClear();
  EXPECT_EQ(recorder.told.back(), 80 * kMegabyte);
  for (std::thread& thread : threads) thread.join();
}

namespace fs = std::filesystem;
using Tree = std::map<std::string, std::string>;

struct Unpacked {
  Sandbox sandbox;
  UnpackResult result;
  Status status;
};

class UnpackTest : public testing::TestWithParam<Arrival> {
 protected:
  void Do(const std::string& archive, const UnpackOptions& options,
          Unpacked* out) {
    out->status =
        UnpackInto(out->sandbox, archive, GetParam(), options, &out->result);
  }
  Tree Good(const std::string& archive, UnpackOptions options = {}) {
    Unpacked out;
    Do(archive, options, &out);
    EXPECT_TRUE(out.status.ok()) << out.status.message();
    return out.sandbox.Tree();
  }
};

std::string Random(size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

TEST_P(UnpackTest, WritesFilesOfEverySize) {
  // Sizes around the limits of windows, blocks, ranges and parts.
  Builder builder;
  Tree expected;
  unsigned seed = 1;
  for (size_t size :
       {0, 1, 511, 512, 513, 4095, 4096, 16383, 16384, 110000, 1 << 20,
        (1 << 20) + 1, (4 << 20) - 1, 4 << 20, (9 << 20) + 7, 3, 70000}) {
    const std::string name = "size_" + std::to_string(size);
    const std::string data = Random(size, ++seed);
    builder.File(name, data);
    expected[name] = data;
  }
  EXPECT_TRUE(Good(builder.Finish()) == expected);
}

TEST_P(UnpackTest, WritesManyFilesByManyThreads) {
  Builder builder;
  Tree expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string folder = "d" + std::to_string(i % 300);
    const std::string name = folder + "/f" + std::to_string(i);
    const std::string data = Random(i % 700, i);
    builder.File(name, data);
    expected[folder] = "<folder>";
    expected[name] = data;
  }
  UnpackOptions options;
  options.threads = 8;
  EXPECT_TRUE(Good(builder.Finish(), options) == expected);
}

// Two writers may have files with the same name at the same time; the archive
// order must still decide.
TEST_P(UnpackTest, LetsTheLastOfOneNameWin) {
  UnpackOptions options;
  options.threads = 8;
  for (int round = 0; round < 20; ++round) {
    Builder builder;
    for (int i = 0; i < 40; ++i) {
      builder.File("same", Random(i * 997 % 300000, i));
      builder.File("other" + std::to_string(i), "x");
    }
    builder.File("same", "last");
    EXPECT_EQ(Good(builder.Finish(), options)["same"], "last");
  }
}

TEST_P(UnpackTest, GivesTheLastWordToLinksToo) {
  const Tree tree = Good(Builder()
                             .File("f", std::string(200000, 'x'))
                             .Symlink("f", "elsewhere")
                             .File("t", "1")
                             .File("h", std::string(200000, 'x'))
                             .HardLink("h", "t")
                             .File("t", "2")
                             .Finish());
  const Tree expected = {{"f", "-> elsewhere"}, {"h", "1"}, {"t", "2"}};
  EXPECT_EQ(tree, expected);
}

TEST_P(UnpackTest, KeepsModesButNoSetuid) {
  Unpacked out;
  umask(022);
  Do(Builder()
         .File("f", "1", 07755)
         .File("g", "1", 0440)
         .Folder("d", 01555)
         .File("d/f", "1")
         .Finish(),
     {}, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  struct stat info;
  stat((out.sandbox.inner() + "/f").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  EXPECT_EQ(info.st_uid, geteuid());
  EXPECT_EQ(info.st_mtime, 1600000000);
  stat((out.sandbox.inner() + "/g").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0440u);
  // The owner can still write, or the next run could not finish.
  stat((out.sandbox.inner() + "/d").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
}

TEST_P(UnpackTest, LeavesLitterOutAndCountsIt) {
  Unpacked out;
  Do(Builder()
         .Pax("LIBARCHIVE.xattr.com.apple.quarantine", "MDA")
         .File("d/f", "kept")
         .File("d/._f", "litter")
         .File("d/.DS_Store", std::string(100000, 'x'))
         .Folder("__MACOSX")
         .File("__MACOSX/._f", "litter")
         .File(".stage_dataset.done", "forged")
         .Folder(".stage_dataset.done")
         .File(".stage_dataset.done/blocks", "forged")
         .Finish(),
     {}, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  const Tree expected = {{"d", "<folder>"}, {"d/f", "kept"}};
  EXPECT_EQ(out.sandbox.Tree(), expected);
  const Counts& counts = out.result.counts;
  EXPECT_EQ(counts.files, 1u);
  EXPECT_EQ(counts.bytes, 4u);
  EXPECT_EQ(counts.xattr_headers, 1u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kAppleDouble)], 1u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kDsStore)], 1u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kMacosx)], 2u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kStageFile)], 3u);
}

TEST_P(UnpackTest, StripsComponents) {
  UnpackOptions options;
  options.strip_components = 1;
  const Tree tree = Good(Builder()
                             .Folder("top")
                             .File("top/a/f", "1")
                             .HardLink("top/h", "top/a/f")
                             .Symlink("top/a/l", "../h")
                             .Finish(),
                         options);
  const Tree expected = {
      {"a", "<folder>"}, {"a/f", "1"}, {"a/l", "-> ../h"}, {"h", "1"}};
  EXPECT_EQ(tree, expected);
  // One level less to climb.
  Unpacked out;
  Do(Builder().Symlink("top/l", "../f").Finish(), options, &out);
  EXPECT_FALSE(out.status.ok());
}

TEST_P(UnpackTest, HoldsToMaxBytes) {
  const std::string archive =
      Builder().File("a", "12345").File("b", "12345").Finish();
  UnpackOptions options;
  options.max_bytes = 10;
  EXPECT_EQ(Good(archive, options).size(), 2u);
  options.max_bytes = 9;
  Unpacked out;
  Do(archive, options, &out);
  EXPECT_NE(out.status.message().find("\"b\""), std::string::npos)
      << out.status.message();
  // Endless zeros after the archive are a bomb, too.
  Unpacked bomb;
  Do(Builder().Finish() + std::string(1 << 20, '\0'), options, &bomb);
  EXPECT_FALSE(bomb.status.ok());
}

TEST_P(UnpackTest, ReportsWhatFollowsTheEnd) {
  Unpacked out;
  Do(Builder().File("f", "1").Finish() + "extra", {}, &out);
  ASSERT_TRUE(out.status.ok());
  EXPECT_EQ(out.result.trailing_bytes, 5u);
  Unpacked padded;
  Do(Builder().File("f", "1").Finish() + std::string(9000, '\0'), {}, &padded);
  EXPECT_EQ(padded.result.trailing_bytes, 0u);
}

TEST_P(UnpackTest, WritesNothingAgainBeforeTheResumeOffset) {
  Builder builder;
  builder.File("a", "1").Folder("d").Symlink("l", "a");
  UnpackOptions options;
  options.resume_offset = builder.bytes().size();
  builder.File("b", "2");
  Unpacked out;
  const std::string inner = out.sandbox.inner();
  std::ofstream(inner + "/a") << "kept";
  fs::create_symlink("kept", inner + "/l");
  Do(builder.Finish(), options, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_EQ(
      out.sandbox.Tree(),
      (Tree{{"a", "kept"}, {"b", "2"}, {"d", "<folder>"}, {"l", "-> kept"}}));
  EXPECT_EQ(out.result.counts.files, 2u);
  EXPECT_EQ(out.result.counts.symlinks, 1u);
  EXPECT_FALSE(out.result.lost);
}

// As after `rm -r DIR/*`, which leaves the journal there.
TEST_P(UnpackTest, DoesNotTakeMissingFilesForWritten) {
  UnpackOptions options;
  Builder builder;
  builder.File("d/a", "1");
  options.resume_offset = builder.bytes().size();
  builder.File("b", "2");
  Unpacked out;
  Do(builder.Finish(), options, &out);
  EXPECT_FALSE(out.status.ok());
  EXPECT_TRUE(out.result.lost);
  EXPECT_NE(out.status.message().find("\"d/a\""), std::string::npos);
}

// A kill between the removal of a file and the creation of the next one.
TEST_P(UnpackTest, GoesOnWhereAFileWasBeingReplaced) {
  UnpackOptions options;
  Builder builder;
  builder.File("a", "1");
  options.resume_offset = builder.bytes().size();
  EXPECT_EQ(Good(builder.File("a", "2").Finish(), options), (Tree{{"a", "2"}}));
}

TEST_P(UnpackTest, ReplacesLinksInsteadOfWritingThroughThem) {
  Unpacked out;
  const std::string victim = out.sandbox.outer() + "/victim";
  std::ofstream(victim) << "untouched";
  fs::create_symlink(victim, out.sandbox.inner() + "/soft");
  fs::create_hard_link(victim, out.sandbox.inner() + "/hard");
  Do(Builder().File("soft", "1").File("hard", "2").Finish(), {}, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  std::string text;
  std::ifstream(victim) >> text;
  EXPECT_EQ(text, "untouched");
  EXPECT_EQ(out.sandbox.Tree(), (Tree{{"hard", "2"}, {"soft", "1"}}));
}

TEST_P(UnpackTest, WritesThroughNoLinkThatWasThereBefore) {
  Unpacked out;
  fs::create_directory(out.sandbox.outer() + "/outside");
  fs::create_directory_symlink("../outside", out.sandbox.inner() + "/d");
  Do(Builder().File("d/f", "1").Finish(), {}, &out);
  EXPECT_FALSE(out.status.ok());
  EXPECT_TRUE(fs::is_empty(out.sandbox.outer() + "/outside"));
}

// Another process keeps swapping a folder for a link while we unpack.
TEST_P(UnpackTest, StaysInsideWhileNamesChangeUnderIt) {
  for (int round = 0; round < 5; ++round) {
    Unpacked out;
    const std::string outside = out.sandbox.outer() + "/outside";
    const std::string folder = out.sandbox.inner() + "/d";
    fs::create_directory(outside);
    std::atomic<bool> stop{false};
    std::thread attacker([&] {
      const std::string aside = out.sandbox.inner() + "/aside";
      while (!stop) {
        if (rename(folder.c_str(), aside.c_str()) != 0) continue;
        if (symlink("../outside", folder.c_str()) == 0) unlink(folder.c_str());
        if (rename(aside.c_str(), folder.c_str()) != 0) {
          fs::remove_all(aside);
        }
      }
    });
    Builder builder;
    for (int i = 0; i < 2000; ++i) {
      // More folders than the cache holds, so that paths are resolved
      // repeatedly.
      builder.File("d/" + std::to_string(i) + "/f", "1");
    }
    Do(builder.Finish(), {}, &out);
    stop = true;
    attacker.join();
    // Whether it is refused or unpacked depends on timing, but nothing escapes.
    EXPECT_TRUE(fs::is_empty(outside)) << "round " << round;
  }
}

TEST_P(UnpackTest, NamesThePathThatCannotBeWritten) {
  Unpacked out;
  fs::create_directories(out.sandbox.inner() + "/a/f/full");
  Do(Builder().File("a/f", "1").Finish(), {}, &out);
  EXPECT_EQ(out.status.exit_code(), 2);
  EXPECT_NE(out.status.message().find("a/f"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Arrivals, UnpackTest,
                         testing::Values(Arrival::kFile, Arrival::kStream));

// Unpacks every test archive, as a file and as a stream: hostile ones are
// refused with a message that names the entry, and nothing escapes.

class CorpusTest : public testing::TestWithParam<Arrival> {};

TEST_P(CorpusTest, UnpacksOrIsRefusedAndNeverEscapes) {
  for (const TestArchive& test : AllTestArchives()) {
    Sandbox sandbox;
    UnpackResult result;
    const Status status =
        UnpackInto(sandbox, test.bytes, GetParam(), UnpackOptions(), &result);
    EXPECT_EQ(status.ok(), !test.refused)
        << test.name << ": " << status.message();
    EXPECT_EQ(sandbox.Escaped(), "") << test.name;
    if (status.ok()) continue;
    EXPECT_EQ(status.exit_code(), Status::kRunFailed) << test.name;
    EXPECT_NE(status.message().find(test.message), std::string::npos)
        << test.name << ": " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << test.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Arrivals, CorpusTest,
                         testing::Values(Arrival::kFile, Arrival::kStream));

}  // namespace
}  // namespace feedrate::tar
