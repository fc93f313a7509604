#include "lib/tar/stage/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/tar/extract/unpack_testing.h"

namespace feedrate::tar {
namespace {

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
    Status status = CopyTree(root_fd_, "src", dest_fd, options, &result_);
    close(dest_fd);
    return status;
  }
  TreeSummary Summary() {
    TreeSummary summary;
    EXPECT_TRUE(SummarizeTree(root_fd_, "src", &summary).ok());
    return summary;
  }

  Cage from_, to_;
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
  ASSERT_TRUE(Copy(options).ok());
  EXPECT_EQ(to_.Tree(), (std::map<std::string, std::string>{{"c", "3"}}));
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

}  // namespace
}  // namespace feedrate::tar
