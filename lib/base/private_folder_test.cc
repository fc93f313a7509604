#include "lib/base/private_folder.h"

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

class PrivateFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = *MakeTemporaryFolder(testing::TempDir() + "/private_folder");
    folder_ = root_ + "/mine";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string root_;
  std::string folder_;
};

std::string Text(const absl::Status& status) {
  return std::string(status.message());
}

TEST_F(PrivateFolderTest, IsMadeForThisUserOnly) {
  const mode_t before = umask(0);
  EXPECT_TRUE(MakePrivateFolder(folder_ + "/a/b/").ok());
  umask(before);
  struct stat info;
  ASSERT_EQ(stat((folder_ + "/a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700);
  EXPECT_TRUE(MakePrivateFolder(folder_ + "/a/b").ok()) << "it is there now";
  EXPECT_TRUE(absl::IsNotFound(CheckPrivate(folder_ + "/none")));
}

TEST_F(PrivateFolderTest, WhatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0770, 0720, 0702, 0777, 01777}) {
    ASSERT_TRUE(MakePrivateFolder(folder_).ok());
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    const absl::Status status = MakePrivateFolder(folder_);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << std::oct << mode;
    EXPECT_THAT(Text(status), HasSubstr(folder_ + ": other users can write"));
    EXPECT_EQ(Text(CheckPrivate(folder_)), Text(status));
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    EXPECT_TRUE(MakePrivateFolder(folder_).ok()) << "others may read";
  }
}

TEST_F(PrivateFolderTest, ALinkIsRefusedUnlessTheUserNamedIt) {
  ASSERT_TRUE(MakePrivateFolder(folder_).ok());
  const std::string link = root_ + "/link";
  ASSERT_EQ(symlink(folder_.c_str(), link.c_str()), 0);
  EXPECT_THAT(Text(CheckPrivate(link)), HasSubstr("is a symbolic link"));
  EXPECT_TRUE(CheckPrivateFolder(link + "/").ok());
  EXPECT_TRUE(MakePrivateFolder(link).ok());
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(Text(MakePrivateFolder(link)),
              HasSubstr("other users can write"));
  ASSERT_TRUE(WriteFileAtomically(root_ + "/file", "").ok());
  EXPECT_THAT(Text(MakePrivateFolder(root_ + "/file")),
              HasSubstr("is not a folder"));
}

TEST_F(PrivateFolderTest, TemporaryNamesAreNewAndForThisUserOnly) {
  const char* const variable = getenv("TMPDIR");
  const std::string before = variable != nullptr ? variable : "";
  setenv("TMPDIR", root_.c_str(), 1);
  const auto folder = MakeTemporaryFolder("a");
  const auto file = MakeTemporaryFile("a");
  ASSERT_TRUE(folder.ok() && file.ok()) << folder.status() << file.status();
  EXPECT_NE(*folder, *file);
  struct stat info;
  for (const std::string& path : {*folder, *file}) {
    EXPECT_EQ(path.find(root_ + "/a_"), 0) << path;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, path == *file ? 0600 : 0700);
  }
  setenv("TMPDIR", (root_ + "/none").c_str(), 1);
  EXPECT_THAT(Text(MakeTemporaryFolder("a").status()), HasSubstr("set TMPDIR"));
  EXPECT_THAT(Text(MakeTemporaryFile("a").status()), HasSubstr("set TMPDIR"));
  setenv("TMPDIR", "", 1);
  const auto fallback = MakeTemporaryFile("feedrate");
  ASSERT_TRUE(fallback.ok()) << fallback.status();
  EXPECT_EQ(fallback->find("/tmp/feedrate_"), 0);
  unlink(fallback->c_str());
  if (variable == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", before.c_str(), 1);
  }
}

TEST_F(PrivateFolderTest, WhatBelongsToOthersIsRefused) {
  ASSERT_TRUE(MakePrivateFolder(folder_).ok());
  struct stat info;
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  info.st_uid = geteuid() + 1;
  EXPECT_THAT(Text(CheckPrivate("/x", info)),
              HasSubstr("/x: belongs to another user ("));
  info.st_uid = 0;
  EXPECT_TRUE(CheckPrivate("/x", info).ok()) << "root is trusted";
  const std::string link = root_ + "/link";
  ASSERT_EQ(symlink(folder_.c_str(), link.c_str()), 0);
  if (lchown(link.c_str(), 1234, 1234) != 0) {
    GTEST_SKIP() << "only root, outside of a sandbox, can give files away";
  }
  EXPECT_THAT(Text(CheckPrivateFolder(link)),
              HasSubstr("link: belongs to another user (1234, not 0)"));
  ASSERT_EQ(chown(folder_.c_str(), 1234, 1234), 0);
  EXPECT_THAT(Text(MakePrivateFolder(folder_)),
              HasSubstr("mine: belongs to another user (1234, not 0)"));
}

}  // namespace
}  // namespace feedrate
