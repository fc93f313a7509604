#include "lib/base/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class CacheFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/cache_folder.XXXXXX";
    home_ = mkdtemp(folder.data());
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  static std::string Error() {
    const auto folder = CacheFolder();
    EXPECT_TRUE(absl::IsInvalidArgument(folder.status())) << folder.status();
    return std::string(folder.status().message());
  }

  std::string home_;
};

TEST_F(CacheFolderTest, IsForThisUserOnly) {
  const mode_t before = umask(0);
  const auto folder = CacheFolder();
  umask(before);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, home_ + "/.cache/feedrate");
  struct stat info;
  ASSERT_EQ(stat(folder->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  setenv("XDG_CACHE_HOME", (home_ + "/x").c_str(), 1);
  EXPECT_EQ(*CacheFolder(), home_ + "/x/feedrate");
}

TEST_F(CacheFolderTest, IsNeverInTheCurrentFolder) {
  unsetenv("HOME");
  EXPECT_THAT(Error(),
              HasSubstr("neither HOME nor XDG_CACHE_HOME is set; set"));
  setenv("HOME", "me", 1);
  EXPECT_THAT(Error(), HasSubstr("HOME is not an absolute path; set HOME or"));
  setenv("XDG_CACHE_HOME", "me", 1);
  EXPECT_THAT(Error(), HasSubstr("XDG_CACHE_HOME is not an absolute path"));
}

TEST_F(CacheFolderTest, AFolderThatOthersCanWriteIsRefused) {
  const std::string folder = *CacheFolder();
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  EXPECT_THAT(Error(), HasSubstr(folder + ": other users can write it"));
}

}  // namespace
}  // namespace feedrate
