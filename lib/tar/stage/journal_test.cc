#include "lib/tar/stage/journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace feedrate::tar {
namespace {

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

  // Opens the journal, adds offsets, and says where it resumed.
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
  // And b's took its place.
  EXPECT_EQ(Use("a", {}), 0u);
}

TEST_F(JournalTest, IsOfNoUseWithoutAnIdentity) {
  Use("", {512});
  EXPECT_EQ(Use("", {}), 0u);
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

}  // namespace
}  // namespace feedrate::tar
