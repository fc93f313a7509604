// Tests the program like its users see it: flags, streams, exit codes, what it
// leaves on disk, and when it has nothing to do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lib/tar/builder.h"
#include "lib/tar/test_archives.h"
#include "tools/stage_dataset/tool_testing.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;
using tar::Builder;
using Tree = std::map<std::string, std::string>;

constexpr char kSentinel[] = "/.stage_dataset.done";

// SHA-256 of SmallTar(), computed with sha256sum.
std::string Sha256Of(const std::string& path) {
  return RunProgram({"sha256sum", path}).out.substr(0, 64);
}

std::string SmallTar() {
  return Builder()
      .Folder("d")
      .File("d/a", "first")
      .File("d/b", std::string(200000, 'b'))
      .File("d/.DS_Store", "litter")
      .Symlink("l", "d/a")
      .Finish();
}

class StageDatasetTest : public testing::Test {
 protected:
  StageDatasetTest() { WriteFile(tar_, SmallTar()); }

  ToolRun Stage(std::vector<std::string> more = {}, int stdin_fd = -1) {
    std::vector<std::string> arguments = {"--source=" + tar_,
                                          "--dest=" + dest_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunTool(arguments, stdin_fd);
  }
  bool HasSentinel() const { return fs::exists(dest_ + kSentinel); }
  void ExpectStaged() const {
    EXPECT_TRUE(HasSentinel());
    EXPECT_EQ(ReadTree(dest_), (Tree{{"d", "<folder>"},
                                     {"d/a", "first"},
                                     {"d/b", std::string(200000, 'b')},
                                     {"l", "-> d/a"}}));
  }

  TempFolder folder_;
  const std::string tar_ = folder_ / "small.tar";
  const std::string dest_ = folder_ / "dest";
};

TEST_F(StageDatasetTest, TeachesByItsHelp) {
  const ToolRun run = RunTool({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* word : {"--source", "--dest", "--expected-bytes", "--sha256",
                           "--strip-components", "--threads", "--max-bytes",
                           "--no-sync", "--force", "--format", "Exit codes",
                           "130", "stage_dataset --source="}) {
    EXPECT_NE(run.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(RunTool({"--version"}).out.rfind("stage_dataset ", 0), 0u);
}

TEST_F(StageDatasetTest, CallsAMistakeAMistake) {
  EXPECT_EQ(RunTool({}).exit_code, 1);
  EXPECT_EQ(RunTool({"--sorce=x", "--dest=y"}).exit_code, 1);
  const ToolRun missing =
      RunTool({"--source=" + (folder_ / "no.tar"), "--dest=" + dest_});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.err.find("no.tar"), std::string::npos);
  EXPECT_EQ(RunTool({"--source=ftp://h/x", "--dest=" + dest_}).exit_code, 1);
  WriteFile(folder_ / "plain", "x");
  EXPECT_EQ(
      RunTool({"--source=" + tar_, "--dest=" + (folder_ / "plain")}).exit_code,
      1);
}

TEST_F(StageDatasetTest, StagesAndSaysSo) {
  const ToolRun run = Stage({"--format=jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectStaged();
  EXPECT_EQ(run.out.find('\n'), run.out.size() - 1) << "one record, one line";
  for (const std::string field :
       {R"({"schema":1,"record":"stage",)", R"("already_staged":false)",
        R"("bytes":200005)", R"("files":2)", R"("folders":1)",
        R"("symlinks":1)", R"("seconds":)", R"("mb_per_s":)",
        R"("skipped":{"ds_store":1,)", R"("sha256":null)",
        R"("synced":true)"}) {
    EXPECT_NE(run.out.find(field), std::string::npos) << field << run.out;
  }
  EXPECT_FALSE(fs::exists(dest_ + "/.stage_dataset.journal"));
  EXPECT_EQ(Stage({"--force"}).out, "") << "stdout is for data";
}

TEST_F(StageDatasetTest, DoesNothingTheSecondTime) {
  ASSERT_EQ(Stage().exit_code, 0);
  // What the first run wrote is not read again, let alone written.
  fs::remove(dest_ + "/d/a");
  const ToolRun run = Stage({"--format=jsonl"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.out.find(R"("already_staged":true,"bytes":200005)"),
            std::string::npos)
      << run.out;
  EXPECT_FALSE(fs::exists(dest_ + "/d/a"));
}

TEST_F(StageDatasetTest, StagesAgainWhenItMust) {
  ASSERT_EQ(Stage().exit_code, 0);
  const auto broken = [this] {
    WriteFile(dest_ + "/d/a", "broken");
    return dest_ + "/d/a";
  };
  std::string file = broken();
  ASSERT_EQ(Stage({"--force"}).exit_code, 0);
  EXPECT_EQ(ReadFile(file), "first") << "--force";
  broken();
  fs::remove(dest_ + kSentinel);
  ASSERT_EQ(Stage().exit_code, 0);
  EXPECT_EQ(ReadFile(file), "first") << "missing sentinel";
  broken();
  WriteFile(dest_ + kSentinel, "{\"schema\":1");
  ASSERT_EQ(Stage().exit_code, 0);
  EXPECT_EQ(ReadFile(file), "first") << "damaged sentinel";
  broken();
  fs::last_write_time(tar_, fs::file_time_type::clock::now());
  ASSERT_EQ(Stage().exit_code, 0);
  EXPECT_EQ(ReadFile(file), "first") << "another mtime";
  broken();
  WriteFile(tar_, SmallTar() + std::string(512, '\0'));
  ASSERT_EQ(Stage().exit_code, 0);
  EXPECT_EQ(ReadFile(file), "first") << "another size";
  EXPECT_EQ(Stage({"--strip-components=1"}).exit_code, 0);
  EXPECT_EQ(ReadFile(dest_ + "/a"), "first") << "another shape";
}

TEST_F(StageDatasetTest, HasNoSentinelAfterAFailure) {
  ASSERT_EQ(Stage().exit_code, 0);
  WriteFile(tar_, SmallTar().substr(0, 100000));
  const ToolRun run = Stage();
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("\"d/b\""), std::string::npos) << run.err;
  EXPECT_FALSE(HasSentinel());
}

TEST_F(StageDatasetTest, ChecksSizeAndChecksum) {
  const std::string size = std::to_string(fs::file_size(tar_));
  const std::string sha = Sha256Of(tar_);
  EXPECT_EQ(Stage({"--expected-bytes=1"}).exit_code, 2);
  EXPECT_FALSE(HasSentinel());
  EXPECT_FALSE(fs::exists(dest_ + "/d")) << "checked before";
  const ToolRun wrong = Stage({"--sha256=" + std::string(64, '0')});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find(sha), std::string::npos) << wrong.err;
  EXPECT_FALSE(HasSentinel());
  const ToolRun right =
      Stage({"--expected_bytes", size, "--sha256", sha, "--format=jsonl"});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_NE(right.out.find("\"sha256\":\"" + sha + "\""), std::string::npos);
  ExpectStaged();
  // The sentinel has the checksum: no need to read the source again.
  EXPECT_NE(Stage({"--sha256=" + sha}).err.find("already"), std::string::npos);
  EXPECT_EQ(Stage({"--sha256=" + std::string(64, '0')}).exit_code, 2);
}

TEST_F(StageDatasetTest, ReadsStdin) {
  const auto from_stdin = [this](std::vector<std::string> more) {
    const int fd = open(tar_.c_str(), O_RDONLY);
    more.insert(more.begin(), {"--source=-", "--dest=" + dest_});
    const ToolRun run = RunTool(more, fd);
    close(fd);
    return run;
  };
  ASSERT_EQ(from_stdin({}).exit_code, 0);
  ExpectStaged();
  EXPECT_EQ(from_stdin({}).err.find("already"), std::string::npos)
      << "nothing tells that it is the same";
  const std::string sha = "--sha256=" + Sha256Of(tar_);
  EXPECT_EQ(from_stdin({sha}).err.find("already"), std::string::npos);
  EXPECT_NE(from_stdin({sha}).err.find("already"), std::string::npos);
  EXPECT_EQ(from_stdin({"--expected-bytes=7"}).exit_code, 2) << "after";
  EXPECT_FALSE(HasSentinel());
}

TEST_F(StageDatasetTest, TakesFileUrls) {
  EXPECT_EQ(RunTool({"--source=file://" + tar_, "--dest=" + dest_}).exit_code,
            0);
  ExpectStaged();
  EXPECT_EQ(RunTool({"--source=file://x", "--dest=" + dest_}).exit_code, 1);
}

TEST_F(StageDatasetTest, UnpacksGzipAndZstd) {
  // pzstd begins with a frame that says how long the next one is.
  const std::string skipped("P*M\x18\4\0\0\0\1\0\0\0", 12);
  const std::pair<std::string, std::string> kPackers[] = {
      {"gzip", ""}, {"zstd", ""}, {"zstd", skipped}};
  for (const auto& [packer, before] : kPackers) {
    SCOPED_TRACE(packer + before);
    if (!Have(packer)) GTEST_SKIP() << packer << " is not installed";
    const std::string packed = folder_ / ("x.tar." + packer);
    WriteFile(packed, before + RunProgram({packer, "-c", tar_}).out);
    fs::remove_all(dest_);
    const std::string sha = Sha256Of(packed);
    const ToolRun run =
        RunTool({"--source=" + packed, "--dest=" + dest_, "--sha256=" + sha,
                 "--expected-bytes=" + std::to_string(fs::file_size(packed))});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ExpectStaged();
    // A byte of the compressed data's own checksum, at the very end.
    std::string bytes = ReadFile(packed);
    bytes[bytes.size() - 6] ^= 1;
    WriteFile(packed, bytes);
    const ToolRun bad = RunTool({"--source=" + packed, "--dest=" + dest_});
    EXPECT_EQ(bad.exit_code, 2);
    EXPECT_NE(bad.err.find(packer), std::string::npos) << bad.err;
    EXPECT_FALSE(HasSentinel());
    const ToolRun none = RunTool({"--source=" + packed, "--dest=" + dest_}, -1,
                                 {{"PATH", folder_ / "nowhere"}});
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_NE(none.err.find(packer + " is needed"), std::string::npos);
  }
}

TEST_F(StageDatasetTest, NamesFormatsThatItDoesNotRead) {
  const std::pair<std::string, std::string> kHeads[] = {
      {std::string("]\0\0\x80\0\xff\xff", 7), "lzma"},
      {std::string("]\0\0\0\1\xff\xff", 7), "lzma"},
      {"\x1f\x9d\x90", "compress"},
      {"\x04\x22\x4d\x18\x64", "lz4"},
      {"BZh91", "bzip2"},
      {std::string("\xfd\x37zXZ\0\0", 7), "xz"},
      {"PK\x03\x04", "zip"},
      {"7z\xbc\xaf\x27\x1c", "7z"},
      {"LZIP\x01", "lzip"},
      {std::string("\x89LZO\0\r", 6), "lzop"},
  };
  for (const auto& [head, name] : kHeads) {
    WriteFile(tar_, head + std::string(2000, '7'));
    const ToolRun run = Stage();
    EXPECT_EQ(run.exit_code, 2) << name;
    EXPECT_NE(run.err.find("this is " + name), std::string::npos) << run.err;
  }
  WriteFile(tar_, Builder().File("]", "1").Finish());
  EXPECT_EQ(Stage().exit_code, 0) << "a file of this name is not a format";
}

TEST_F(StageDatasetTest, StopsABombAtMaxBytes) {
  const std::string bomb = folder_ / "bomb.tar.gz";
  WriteFile(folder_ / "bomb.tar",
            Builder().File("zeros", std::string(64 << 20, '\0')).Finish());
  WriteFile(bomb, RunProgram({"gzip", "-c", folder_ / "bomb.tar"}).out);
  const ToolRun run =
      RunTool({"--source=" + bomb, "--dest=" + dest_, "--max-bytes=1000000"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("\"zeros\""), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("--max-bytes"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(dest_ + "/zeros"));
  EXPECT_EQ(
      RunTool({"--source=" + bomb, "--dest=" + dest_, "--max-bytes=67108864"})
          .exit_code,
      0);
}

TEST_F(StageDatasetTest, AFolderOfOthersIsNotTrustedInSilence) {
  const auto warns = [this](const std::string& words) {
    return Stage().err.find(words) != std::string::npos;
  };
  EXPECT_FALSE(warns("can change"));
  fs::permissions(dest_, fs::perms::all);
  EXPECT_TRUE(warns("all users can change what is in " + dest_));
  if (chown(dest_.c_str(), 1234, 1234) != 0) GTEST_SKIP() << "only for root";
  EXPECT_TRUE(warns("belongs to another user (1234), who can change"));
}

TEST_F(StageDatasetTest, CopiesAFolder) {
  const std::string from = folder_ / "from";
  WriteFile(from + "/d/a", "first");
  WriteFile(from + "/d/b", std::string(200000, 'b'));
  WriteFile(from + "/d/.DS_Store", "litter");
  fs::create_symlink("d/a", from + "/l");
  const std::vector<std::string> arguments = {
      "--source=" + from, "--dest=" + dest_, "--format=jsonl"};
  const ToolRun run = RunTool(arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find(R"("ds_store":1)"), std::string::npos) << run.out;
  ExpectStaged();
  EXPECT_NE(RunTool(arguments).out.find(R"("already_staged":true)"),
            std::string::npos);
  WriteFile(from + "/d/new", "more");
  EXPECT_NE(RunTool(arguments).out.find(R"("already_staged":false)"),
            std::string::npos);
  EXPECT_EQ(ReadFile(dest_ + "/d/new"), "more");
  EXPECT_EQ(
      RunTool({"--source=" + from, "--dest=" + from + "/d/copy"}).exit_code, 1);
  EXPECT_EQ(RunTool({"--source=" + from, "--dest=" + from}).exit_code, 1);
  EXPECT_EQ(RunTool({"--source=" + from, "--dest=" + dest_, "--sha256=compute"})
                .exit_code,
            1);
}

// `rm -r DIR/*` leaves the journal there.
TEST_F(StageDatasetTest, StagesEverythingWhenWhatItWroteIsGone) {
  Builder builder;
  for (int i = 0; i < 30; ++i) {
    builder.File("f" + std::to_string(i), std::string(500000, 'x'));
  }
  WriteFile(tar_, builder.Finish());
  WriteFile(folder_ / "x.tar.gz", RunProgram({"gzip", "-c", tar_}).out);
  for (const std::string& source : {tar_, folder_ / "x.tar.gz"}) {
    SCOPED_TRACE(source);
    fs::remove_all(dest_);
    // A folder in the way of the last file stops the run.
    fs::create_directories(dest_ + "/f29/x");
    // On a busy machine a thread may get there while another one still writes
    // the first file, and then the journal has only its head.
    std::string journal = "\n";
    for (int i = 0; i < 20 && journal.find('\n') == journal.size() - 1; ++i) {
      ASSERT_EQ(RunTool({"--source=" + source, "--dest=" + dest_}).exit_code,
                2);
      journal = ReadFile(dest_ + "/.stage_dataset.journal");
    }
    ASSERT_LT(journal.find('\n'), journal.size() - 1) << journal;
    RunProgram({"sh", "-c", "rm -r " + dest_ + "/*"});
    const ToolRun run =
        RunTool({"--source=" + source, "--dest=" + dest_, "--format=jsonl"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_NE(run.err.find("is gone; staging everything again"),
              std::string::npos)
        << run.err;
    EXPECT_NE(run.out.find("\"resumed_from\":0"), std::string::npos);
    EXPECT_EQ(ReadTree(dest_).size(), 30u);
  }
}

// A folder with the sentinel's name could never be replaced by the sentinel.
TEST_F(StageDatasetTest, IsNotBlockedByNamesLikeItsOwn) {
  for (const std::string name :
       {".stage_dataset.done", ".stage_dataset.done.new",
        ".stage_dataset.journal"}) {
    SCOPED_TRACE(name);
    fs::remove_all(dest_);
    WriteFile(
        tar_,
        Builder().Folder(name).File(name + "/x", "1").File("f", "1").Finish());
    for (int i = 0; i < 2; ++i) {
      const ToolRun run = Stage({"--force"});
      EXPECT_EQ(run.exit_code, 0) << run.err;
    }
    EXPECT_EQ(ReadTree(dest_), (Tree{{"f", "1"}}));
    // One that something else has made is named with the remedy.
    fs::remove(dest_ + "/" + name);
    fs::create_directories(dest_ + "/" + name + "/x");
    const ToolRun run = Stage({"--force"});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.err.find(name + " in --dest is a folder"), std::string::npos)
        << run.err;
  }
}

TEST_F(StageDatasetTest, NamesWhatCannotBeReadOrWritten) {
  // Reading this file fails with EIO, like a bad disk.
  const ToolRun read = RunTool({"--source=/proc/self/mem", "--dest=" + dest_});
  EXPECT_EQ(read.exit_code, 2);
  EXPECT_NE(read.err.find("mem"), std::string::npos) << read.err;
  EXPECT_FALSE(HasSentinel());
  // Nobody, not even root, can create files there.
  const ToolRun write = RunTool({"--source=" + tar_, "--dest=/proc/self/x"});
  EXPECT_EQ(write.exit_code, 2);
  EXPECT_NE(write.err.find("/proc/self/x"), std::string::npos) << write.err;
}

TEST_F(StageDatasetTest, RefusesTheCorpusWithoutASentinel) {
  for (const auto& cases : {tar::BrokenArchives(), tar::HostileArchives()}) {
    for (const tar::TestArchive& test : cases) {
      WriteFile(tar_, test.bytes);
      fs::remove_all(dest_);
      const ToolRun run = Stage({"--no-sync"});
      EXPECT_EQ(run.exit_code, 2) << test.name;
      EXPECT_NE(run.err.find(test.message), std::string::npos)
          << test.name << ": " << run.err;
      EXPECT_EQ(run.err.find('\n'), run.err.size() - 1) << test.name;
      EXPECT_FALSE(HasSentinel()) << test.name;
    }
  }
}

TEST_F(StageDatasetTest, StagesTheGoodCorpusTwice) {
  for (const tar::TestArchive& test : tar::GoodArchives()) {
    WriteFile(tar_, test.bytes);
    fs::remove_all(dest_);
    EXPECT_EQ(Stage({"--no-sync"}).exit_code, 0) << test.name;
    EXPECT_TRUE(HasSentinel()) << test.name;
    // Over itself, like a run after a kill.
    EXPECT_EQ(Stage({"--no-sync", "--force"}).exit_code, 0) << test.name;
  }
}

}  // namespace
}  // namespace feedrate
