#include "lib/tar/extract/unpack.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/tar/builder.h"
#include "lib/tar/extract/unpack_testing.h"

namespace feedrate::tar {
namespace {

namespace fs = std::filesystem;
using Tree = std::map<std::string, std::string>;

struct Unpacked {
  Cage cage;
  UnpackResult result;
  Status status;
};

class UnpackTest : public testing::TestWithParam<Arrival> {
 protected:
  void Do(const std::string& archive, const UnpackOptions& options,
          Unpacked* out) {
    out->status =
        UnpackInto(out->cage, archive, GetParam(), options, &out->result);
  }
  Tree Good(const std::string& archive, UnpackOptions options = {}) {
    Unpacked out;
    Do(archive, options, &out);
    EXPECT_TRUE(out.status.ok()) << out.status.message();
    return out.cage.Tree();
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
  // Around the limits of windows, blocks, ranges and parts.
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

// Two writers may hold files of one name at the same time; the archive's order
// decides all the same.
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
  stat((out.cage.inner() + "/f").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  EXPECT_EQ(info.st_uid, geteuid());
  EXPECT_EQ(info.st_mtime, 1600000000);
  stat((out.cage.inner() + "/g").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0440u);
  // The owner can go on writing, or the next run could not finish the job.
  stat((out.cage.inner() + "/d").c_str(), &info);
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
         .Finish(),
     {}, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  const Tree expected = {{"d", "<folder>"}, {"d/f", "kept"}};
  EXPECT_EQ(out.cage.Tree(), expected);
  const Counts& counts = out.result.counts;
  EXPECT_EQ(counts.files, 1u);
  EXPECT_EQ(counts.bytes, 4u);
  EXPECT_EQ(counts.xattr_headers, 1u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kAppleDouble)], 1u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kDsStore)], 1u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kMacosx)], 2u);
  EXPECT_EQ(counts.skipped[static_cast<int>(Skip::kStageFile)], 1u);
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
  // One level less to climb from.
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
  // Zeros without end behind the archive are a bomb as well.
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
  Do(builder.Finish(), options, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  EXPECT_EQ(out.cage.Tree(), (Tree{{"b", "2"}}));
  EXPECT_EQ(out.result.counts.files, 2u);
  EXPECT_EQ(out.result.counts.symlinks, 1u);
}

TEST_P(UnpackTest, ReplacesLinksInsteadOfWritingThroughThem) {
  Unpacked out;
  const std::string victim = out.cage.outer() + "/victim";
  std::ofstream(victim) << "untouched";
  fs::create_symlink(victim, out.cage.inner() + "/soft");
  fs::create_hard_link(victim, out.cage.inner() + "/hard");
  Do(Builder().File("soft", "1").File("hard", "2").Finish(), {}, &out);
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  std::string text;
  std::ifstream(victim) >> text;
  EXPECT_EQ(text, "untouched");
  EXPECT_EQ(out.cage.Tree(), (Tree{{"hard", "2"}, {"soft", "1"}}));
}

TEST_P(UnpackTest, WritesThroughNoLinkThatWasThereBefore) {
  Unpacked out;
  fs::create_directory(out.cage.outer() + "/outside");
  fs::create_directory_symlink("../outside", out.cage.inner() + "/d");
  Do(Builder().File("d/f", "1").Finish(), {}, &out);
  EXPECT_FALSE(out.status.ok());
  EXPECT_TRUE(fs::is_empty(out.cage.outer() + "/outside"));
}

// Another process swaps a folder for a link, over and over, while we unpack.
TEST_P(UnpackTest, StaysInsideWhileNamesChangeUnderIt) {
  for (int round = 0; round < 5; ++round) {
    Unpacked out;
    const std::string outside = out.cage.outer() + "/outside";
    const std::string folder = out.cage.inner() + "/d";
    fs::create_directory(outside);
    std::atomic<bool> stop{false};
    std::thread attacker([&] {
      const std::string aside = out.cage.inner() + "/aside";
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
      // More folders than the cache holds, or the walk is done once only.
      builder.File("d/" + std::to_string(i) + "/f", "1");
    }
    Do(builder.Finish(), {}, &out);
    stop = true;
    attacker.join();
    // Refused or unpacked: the timing decides. Escaped it has not.
    EXPECT_TRUE(fs::is_empty(outside)) << "round " << round;
  }
}

TEST_P(UnpackTest, NamesThePathThatCannotBeWritten) {
  Unpacked out;
  fs::create_directories(out.cage.inner() + "/a/f/full");
  Do(Builder().File("a/f", "1").Finish(), {}, &out);
  EXPECT_EQ(out.status.exit_code(), 2);
  EXPECT_NE(out.status.message().find("a/f"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Arrivals, UnpackTest,
                         testing::Values(Arrival::kFile, Arrival::kStream));

}  // namespace
}  // namespace feedrate::tar
