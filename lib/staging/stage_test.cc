#include "lib/staging/stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/staging/destination.h"
#include "lib/staging/source.h"
#include "lib/tar/extract/unpack_testing.h"

namespace feedrate::tar {
namespace {

TEST(JsonObject, KeepsTheOrder) {
  EXPECT_EQ(JsonObject()
                .Add("b", uint64_t{1})
                .Add("a", "x")
                .Add("c", true)
                .Add("d", 0.5, 3)
                .AddNull("e")
                .Add("f", JsonObject().Add("g", 0))
                .Finish(),
            R"({"b":1,"a":"x","c":true,"d":0.500,"e":null,"f":{"g":0}})");
}

TEST(JsonString, EscapesWhatJsonMustNotHold) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01"), R"("a\"b\\c\u000a\u0001")");
  EXPECT_EQ(JsonString("caf\xc3\xa9 \xf0\x9f\x98\x80"),
            "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
}

TEST(JsonString, IsValidForAnyBytes) {
  EXPECT_EQ(JsonString("\xff"), R"("\ufffdff")");
  EXPECT_EQ(JsonString("\xc3"), R"("\ufffdc3")");
  EXPECT_EQ(JsonString("\xed\xa0\x80"), R"("\ufffded\ufffda0\ufffd80")");
  EXPECT_EQ(JsonString("\xc0\xaf"), R"("\ufffdc0\ufffdaf")");
}

TEST(FindJson, FindsFieldsButNotTextThatLooksLikeThem) {
  const std::string line =
      JsonObject().Add("source", "\"n\":5,").Add("n", 7).AddNull("z").Finish();
  EXPECT_EQ(FindJson(line, "source"), R"("\"n\":5,")");
  EXPECT_EQ(FindJsonNumber(line, "n"), 7u);
  EXPECT_EQ(FindJson(line, "z"), "null");
  EXPECT_EQ(FindJson(line, "missing"), "");
  EXPECT_EQ(FindJson("{\"cut\":\"sh", "cut"), "");
}

namespace fs = std::filesystem;

TEST(Destination, IsMadeWithItsParents) {
  const std::string root = testing::TempDir() + "/dest_made";
  for (const std::string& path : {root + "/a/b/c", root + "//d/"}) {
    Destination dest;
    ASSERT_TRUE(dest.Open(path).ok()) << path;
    EXPECT_TRUE(fs::is_directory(path));
  }
  fs::remove_all(root);
}

TEST(Destination, IsAFolder) {
  const std::string path = testing::TempDir() + "/dest_file";
  std::ofstream(path) << "x";
  Destination dest;
  EXPECT_EQ(dest.Open(path).exit_code(), 1);
  Destination below;
  EXPECT_EQ(below.Open(path + "/d").exit_code(), 2);
}

TEST(Destination, IsOneProcessAtATime) {
  const std::string path = testing::TempDir() + "/dest_locked";
  Destination dest;
  ASSERT_TRUE(dest.Open(path).ok());
  ASSERT_TRUE(dest.Lock([] { FAIL() << "nobody else is here"; }).ok());
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(dest.fd());  // Otherwise the child would hold the lock, too.
    Destination other;
    const bool opened = other.Open(path).ok();
    const bool locked = other.Lock([&] { (void)!write(said[1], "w", 1); }).ok();
    (void)!write(said[1], "l", 1);
    _exit(opened && locked ? 0 : 1);
  }
  char word = 0;
  ASSERT_EQ(read(said[0], &word, 1), 1);
  EXPECT_EQ(word, 'w');
  // Closing has the same effect as the end of a process.
  close(dest.fd());
  ASSERT_EQ(read(said[0], &word, 1), 1);
  EXPECT_EQ(word, 'l');
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    folder_ = testing::TempDir() + "/journal.XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    fd_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  }
  ~JournalTest() override {
    close(fd_);
    fs::remove_all(folder_);
  }

  // Opens the journal, adds offsets, and returns where it resumed.
  uint64_t Use(const std::string& identity, std::vector<uint64_t> offsets,
               bool fresh = false) {
    Journal journal;
    uint64_t resume = 0;
    EXPECT_TRUE(journal.Open(fd_, identity, fresh, &resume).ok());
    for (uint64_t offset : offsets) journal.OnFinished(offset);
    return resume;
  }
  void Append(const std::string& text) {
    std::ofstream(folder_ + "/" + kJournalName, std::ios::app) << text;
  }

  std::string folder_;
  int fd_;
};

TEST_F(JournalTest, GoesOnAtTheLastOffset) {
  EXPECT_EQ(Use("a", {}), 0u);
  EXPECT_EQ(Use("a", {512, 1024}), 0u);
  EXPECT_EQ(Use("a", {4096}), 1024u);
  EXPECT_EQ(Use("a", {}), 4096u);
}

TEST_F(JournalTest, IsOfOneSource) {
  Use("a", {512});
  EXPECT_EQ(Use("b", {}), 0u);
  // And b's journal has replaced it.
  EXPECT_EQ(Use("a", {}), 0u);
}

TEST_F(JournalTest, IsOfNoUseWithoutAnIdentity) {
  Use("", {512});
  EXPECT_EQ(Use("", {}), 0u);
}

TEST_F(JournalTest, APipeIsNotRead) {
  const std::string path = folder_ + "/" + kJournalName;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Use("a", {512}), 0u);
  EXPECT_EQ(Use("a", {}), 512u);
}

TEST_F(JournalTest, StartsAfreshWhenTold) {
  Use("a", {512});
  EXPECT_EQ(Use("a", {}, true), 0u);
  EXPECT_EQ(Use("a", {}), 0u);
}

TEST_F(JournalTest, DoesNotCountALineWithoutItsEnd) {
  Use("a", {512});
  Append("999999");
  EXPECT_EQ(Use("a", {1024}), 512u);
  EXPECT_EQ(Use("a", {}), 1024u);
}

// Half a line and the next one would be read as one large number.
TEST_F(JournalTest, AddsNothingAfterALineThatDidNotFit) {
  Use("a", {512});
  const auto size = fs::file_size(folder_ + "/" + kJournalName);
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  {
    Journal journal;
    uint64_t resume = 0;
    ASSERT_TRUE(journal.Open(fd_, "a", false, &resume).ok());
    limit.rlim_cur = size + 2;  // Two of five bytes.
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_FALSE(journal.OnFinished(1024));
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(journal.OnFinished(2048));
  }
  EXPECT_EQ(Use("a", {}), 512u);
}

TEST_F(JournalTest, IsOfOneBoot) {
  Use("a", {512});
  std::fstream file(folder_ + "/" + kJournalName);
  std::string text;
  std::getline(file, text);
  file.seekp(text.find("\"boot_id\":\"") + 11);
  file.put('?');
  file.close();
  EXPECT_EQ(Use("a", {}), 0u);
}

TEST_F(JournalTest, IsNotWrittenThroughALink) {
  Use("a", {512});
  const std::string victim = folder_ + "/victim";
  fs::rename(folder_ + "/" + kJournalName, victim);
  const auto size = fs::file_size(victim);
  fs::create_symlink("victim", folder_ + "/" + kJournalName);
  EXPECT_EQ(Use("a", {1024}), 0u);
  EXPECT_EQ(fs::file_size(victim), size);
}

namespace fs = std::filesystem;

class SentinelTest : public testing::Test {
 protected:
  SentinelTest() {
    folder_ = testing::TempDir() + "/sentinel.XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    fd_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
    sentinel_.source = "/a/val.tar";
    sentinel_.identity = "file /a/val.tar \"quoted\" size 7";
    sentinel_.source_bytes = 14136559616;
    sentinel_.sha256 = std::string(64, 'a');
    sentinel_.counts.files = 3;
    sentinel_.counts.bytes = 5;
    sentinel_.counts.skipped[static_cast<int>(Skip::kMacosx)] = 2;
  }
  ~SentinelTest() override {
    close(fd_);
    fs::remove_all(folder_);
  }

  std::string Text() {
    std::stringstream text;
    text << std::ifstream(folder_ + "/" + kSentinelName).rdbuf();
    return text.str();
  }
  void SetText(const std::string& text) {
    std::ofstream(folder_ + "/" + kSentinelName) << text;
  }

  std::string folder_;
  int fd_;
  Sentinel sentinel_;
};

TEST_F(SentinelTest, IsReadBackAsWritten) {
  ASSERT_TRUE(WriteSentinel(fd_, sentinel_).ok());
  Sentinel read;
  ASSERT_TRUE(ReadSentinel(fd_, &read));
  EXPECT_EQ('"' + read.identity + '"', JsonString(sentinel_.identity));
  EXPECT_EQ(read.source_bytes, sentinel_.source_bytes);
  EXPECT_EQ(read.sha256, sentinel_.sha256);
  EXPECT_EQ(read.counts.files, 3u);
  EXPECT_EQ(read.counts.bytes, 5u);
  EXPECT_EQ(read.counts.skipped[static_cast<int>(Skip::kMacosx)], 2u);
  EXPECT_TRUE(read.synced);
}

TEST_F(SentinelTest, LeavesNoTemporaryFileWhenItDoesNotFit) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 100;
  setrlimit(RLIMIT_FSIZE, &limit);
  const Status status = WriteSentinel(fd_, sentinel_);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(status.message().find("ulimit -f"), std::string::npos)
      << status.message();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SentinelTest, IsMissingUntilWrittenAndAfterRemoval) {
  Sentinel read;
  EXPECT_FALSE(ReadSentinel(fd_, &read));
  ASSERT_TRUE(RemoveSentinel(fd_).ok());
  ASSERT_TRUE(WriteSentinel(fd_, sentinel_).ok());
  ASSERT_TRUE(RemoveSentinel(fd_).ok());
  EXPECT_FALSE(ReadSentinel(fd_, &read));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SentinelTest, IsNotBelievedWhenCutShort) {
  ASSERT_TRUE(WriteSentinel(fd_, sentinel_).ok());
  const std::string whole = Text();
  Sentinel read;
  for (size_t size = 0; size < whole.size(); ++size) {
    SetText(whole.substr(0, size));
    EXPECT_FALSE(ReadSentinel(fd_, &read)) << size;
  }
}

TEST_F(SentinelTest, HoldsForOneBootWhenNotSynced) {
  sentinel_.synced = false;
  ASSERT_TRUE(WriteSentinel(fd_, sentinel_).ok());
  Sentinel read;
  EXPECT_TRUE(ReadSentinel(fd_, &read));
  std::string text = Text();
  const size_t id = text.find("\"boot_id\":\"") + 11;
  text[id] = text[id] == 'x' ? 'y' : 'x';
  SetText(text);
  EXPECT_FALSE(ReadSentinel(fd_, &read));
}

TEST_F(SentinelTest, IsNotReadThroughALink) {
  ASSERT_TRUE(WriteSentinel(fd_, sentinel_).ok());
  fs::rename(folder_ + "/" + kSentinelName, folder_ + "/elsewhere");
  fs::create_symlink("elsewhere", folder_ + "/" + kSentinelName);
  Sentinel read;
  EXPECT_FALSE(ReadSentinel(fd_, &read));
}

TEST(IsRemote, KnowsTheSchemes) {
  for (const char* url :
       {"https://h/x", "http://h/x", "gs://b/o", "s3://b/k"}) {
    EXPECT_TRUE(IsRemote(url)) << url;
  }
  for (const char* path : {"-", "/a", "file:///a", "https", "s3:/b"}) {
    EXPECT_FALSE(IsRemote(path)) << path;
  }
}

TEST(ParseHttpHead, ReadsTheLastAnswer) {
  const RemoteInfo info = ParseHttpHead(
      "HTTP/1.1 302 Found\r\nContent-Length: 5\r\nETag: \"old\"\r\n\r\n"
      "HTTP/2 200\r\ncontent-length: 14136559616\r\netag: \"new\"\r\n\r\n");
  EXPECT_EQ(info.size, 14136559616u);
  EXPECT_EQ(info.version, "\"new\"");
  EXPECT_EQ(info.condition, "If-Match: \"new\"");
}

TEST(ParseHttpHead, DoesWithoutAnEtag) {
  const std::string modified = "Wed, 18 Nov 2026 15:00:00 GMT";
  const RemoteInfo info =
      ParseHttpHead("HTTP/1.1 200 OK\r\nLast-Modified: " + modified +
                    "\r\nDate: Wed, 18 Nov 2026 15:01:00 GMT\r\n\r\n");
  EXPECT_FALSE(info.size.has_value());
  EXPECT_EQ(info.version, modified);
  EXPECT_EQ(info.condition, "If-Unmodified-Since: " + modified);
  EXPECT_EQ(ParseHttpHead("HTTP/1.1 200 OK\r\n\r\n").version, "");
}

// What may stand for two versions is none.
TEST(ParseHttpHead, TakesNoWeakVersion) {
  for (const char* headers :
       {"ETag: W/\"a\"", "etag: w/\"a\"", "ETag: \"a\rx: 1\"",
        "ETag: \"a\"\r\nETag: \"b\"",
        "Last-Modified: Wed, 18 Nov 2026 15:00:00 GMT",
        "Last-Modified: Wed, 18 Nov 2026 15:00:00 GMT\r\n"
        "Date: Wed, 18 Nov 2026 15:00:59 GMT",
        "Last-Modified: yesterday\r\nDate: Wed, 18 Nov 2026 15:00:59 GMT",
        "ETag: W/\"a\"\r\nLast-Modified: Wed, 18 Nov 2026 15:00:00 GMT\r\n"
        "Date: Wed, 18 Nov 2027 15:00:59 GMT"}) {
    const RemoteInfo info =
        ParseHttpHead(std::string("HTTP/1.1 200\r\n") + headers + "\r\n\r\n");
    EXPECT_EQ(info.version, "") << headers;
    EXPECT_EQ(info.condition, "") << headers;
  }
  EXPECT_EQ(ParseJsonDescription("{\"ETag\": \"W/\\\"a\\\"\"}").version, "");
}

TEST(ParseJsonDescription, ReadsAws) {
  const RemoteInfo info = ParseJsonDescription(
      "{\n    \"AcceptRanges\": \"bytes\",\n    \"ContentLength\": 10240,\n"
      "    \"ETag\": \"\\\"d41d8\\\"\"\n}\n");
  EXPECT_EQ(info.size, 10240u);
  EXPECT_EQ(info.version, "\"d41d8\"");
}

// Who writes an object also writes its metadata.
TEST(ParseJsonDescription, TakesOnlyWhatTheStoreSays) {
  const RemoteInfo info = ParseJsonDescription(
      "{\"Metadata\": {\"generation\": \"7\", \"size\": \"1\", \"etag\": "
      "\"m\"}, \"ContentLength\": 3, \"ETag\": \"e\"}");
  EXPECT_EQ(info.size, 3u);
  EXPECT_EQ(info.version, "e");
  for (const char* other :
       {"{\"size\": 1, \"generation\": \"1\", \"generation\": \"2\"}",
        "{\"size\": -1}", "{\"size\": [1]}", "[{\"size\": 1}]",
        "\"size\": 1, \"etag\": \"e\"", ""}) {
    EXPECT_FALSE(ParseJsonDescription(other).size.has_value()) << other;
    EXPECT_EQ(ParseJsonDescription(other).version, "") << other;
  }
}

TEST(ParseJsonDescription, ReadsGcloud) {
  const RemoteInfo info = ParseJsonDescription(
      "{\"etag\": \"CJ\", \"generation\": \"1700\", \"size\": 42}");
  EXPECT_EQ(info.size, 42u);
  EXPECT_EQ(info.version, "1700");
}

TEST(ParseGsutilStat, ReadsSizeAndGeneration) {
  const RemoteInfo info = ParseGsutilStat(
      "gs://b/o:\n    Content-Length:         42\n    Generation:  1700\n");
  EXPECT_EQ(info.size, 42u);
  EXPECT_EQ(info.version, "1700");
  EXPECT_EQ(
      ParseGsutilStat("Generation: 1\nMetadata:\n  Generation: 2\n").version,
      "");
}

TEST(FetchCommand, PassesTheUrlAsOneWord) {
  const std::vector<std::string> argv = FetchCommand("https://h/a b;$(x)", {});
  EXPECT_EQ(argv.front(), "curl");
  EXPECT_EQ(argv.back(), "https://h/a b;$(x)");
  EXPECT_EQ(FetchCommand("s3://b/k", {}),
            (std::vector<std::string>{"aws", "s3", "cp", "--only-show-errors",
                                      "s3://b/k", "-"}));
}

namespace fs = std::filesystem;

class TreeTest : public testing::Test {
 protected:
  TreeTest() { root_fd_ = open(from_.inner().c_str(), O_RDONLY); }
  ~TreeTest() override { close(root_fd_); }

  void Put(const std::string& name, const std::string& text) {
    const fs::path path = from_.inner() + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Status Copy(UnpackOptions options = {}) {
    const int dest_fd = open(to_.inner().c_str(), O_RDONLY);
    TreeSummary copied;
    Status status =
        CopyTree(root_fd_, "src", dest_fd, options, &result_, &copied);
    EXPECT_TRUE(!status.ok() || copied.digest == Summary().digest);
    close(dest_fd);
    return status;
  }
  TreeSummary Summary() {
    TreeSummary summary;
    EXPECT_TRUE(SummarizeTree(root_fd_, "src", &summary).ok());
    return summary;
  }

  Sandbox from_, to_;
  int root_fd_;
  UnpackResult result_;
};

TEST_F(TreeTest, CopiesFilesFoldersAndLinks) {
  Put("b/f", std::string(700000, 'x'));
  Put("a", "1");
  fs::create_directory(from_.inner() + "/empty");
  fs::create_symlink("../a", from_.inner() + "/b/l");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(to_.Tree(), from_.Tree());
  EXPECT_EQ(result_.counts.files, 2u);
  EXPECT_EQ(result_.counts.folders, 2u);
  EXPECT_EQ(result_.counts.symlinks, 1u);
}

TEST_F(TreeTest, KeepsModeAndTime) {
  Put("f", "1");
  const std::string path = from_.inner() + "/f";
  chmod(path.c_str(), 04751);
  const struct timespec times[2] = {{1, 2}, {1234567890, 123456789}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
  umask(022);
  ASSERT_TRUE(Copy().ok());
  struct stat info;
  ASSERT_EQ(stat((to_.inner() + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0751u);
  EXPECT_EQ(info.st_mtim.tv_sec, 1234567890);
  EXPECT_EQ(info.st_mtim.tv_nsec, 123456789);
}

TEST_F(TreeTest, LeavesLitterOut) {
  Put("a/.DS_Store", "x");
  Put("a/._b", "x");
  Put(".stage_dataset.done", "x");
  Put("a/b", "kept");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(to_.Tree().count("a/b"), 1u);
  EXPECT_EQ(to_.Tree().size(), 2u);
  EXPECT_EQ(result_.counts.skipped[static_cast<int>(Skip::kDsStore)], 1u);
  EXPECT_EQ(result_.counts.skipped[static_cast<int>(Skip::kStageFile)], 1u);
}

TEST_F(TreeTest, RefusesLinksThatLeaveAndPipes) {
  fs::create_symlink("/etc/passwd", from_.inner() + "/l");
  EXPECT_NE(Copy().message().find("\"l\""), std::string::npos);
  fs::remove(from_.inner() + "/l");
  ASSERT_EQ(mkfifo((from_.inner() + "/p").c_str(), 0600), 0);
  EXPECT_NE(Copy().message().find("\"p\""), std::string::npos);
}

TEST_F(TreeTest, GoesOnWhereItWas) {
  Put("a", "1");
  Put("b", "2");
  Put("c", "3");
  UnpackOptions options;
  options.resume_offset = 2;
  EXPECT_FALSE(Copy(options).ok());
  EXPECT_TRUE(result_.lost);
  std::ofstream(to_.inner() + "/a") << "kept";
  std::ofstream(to_.inner() + "/b") << "kept";
  ASSERT_TRUE(Copy(options).ok());
  EXPECT_EQ(to_.Tree(), (std::map<std::string, std::string>{
                            {"a", "kept"}, {"b", "kept"}, {"c", "3"}}));
  EXPECT_EQ(result_.counts.files, 3u);
}

TEST_F(TreeTest, HasASummaryThatTellsChanges) {
  Put("d/a", "12345");
  const TreeSummary before = Summary();
  EXPECT_EQ(before.count, 2u);
  EXPECT_EQ(before.bytes, 5u);
  usleep(20000);  // File times are as coarse as the kernel's tick.
  Put("d/a", "54321");
  const TreeSummary after = Summary();
  EXPECT_TRUE(before.newest.seconds != after.newest.seconds ||
              before.newest.nanoseconds != after.newest.nanoseconds);
}

// A resumed run skips entries by their number, so another order of names is
// another folder, even if count, bytes and times are the same.
TEST_F(TreeTest, HasASummaryThatTellsNames) {
  Put("b", "1");
  Put("c", "2");
  const std::string before = Summary().digest;
  fs::rename(from_.inner() + "/c", from_.inner() + "/a");
  EXPECT_NE(Summary().digest, before);
  fs::rename(from_.inner() + "/a", from_.inner() + "/c");
  EXPECT_EQ(Summary().digest, before);
}

TEST(HumanBytes, KeepsThreeDigits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1000), "1.00 kB");
  EXPECT_EQ(HumanBytes(999999), "1.00 MB");
  EXPECT_EQ(HumanBytes(14136559616.0), "14.1 GB");
  EXPECT_EQ(HumanBytes(123456789.0), "123 MB");
}

TEST(ProgressLine, SaysWhatIsLeft) {
  EXPECT_EQ(ProgressLine("val.tar", 500000000, 2000000000, 1.0),
            "val.tar: [#####---------------]  25%  500 MB of 2.00 GB  "
            "500 MB/s  ETA 0:00:03");
}

TEST(ProgressLine, DoesWithoutATotal) {
  EXPECT_EQ(ProgressLine("stdin", 1500, std::nullopt, 0.5),
            "stdin: 1.50 kB  3.00 kB/s");
}

TEST(ProgressLine, StaysSaneAtTheEdges) {
  EXPECT_EQ(ProgressLine("x", 0, 10, 0.0),
            "x: [--------------------]   0%  0 B of 10 B  0 B/s");
  // More than announced.
  EXPECT_EQ(ProgressLine("x", 20, 10, 1.0),
            "x: [####################] 100%  20 B of 10 B  20 B/s  ETA "
            "0:00:00");
}

}  // namespace
}  // namespace feedrate::tar
