#include "lib/tar/stage/sentinel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace feedrate::tar {
namespace {

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

}  // namespace
}  // namespace feedrate::tar
