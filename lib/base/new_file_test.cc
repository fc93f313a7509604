#include "lib/base/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/new_file_test_" + name;
  mkdir(folder.c_str(), 0755);
  return folder;
}

TEST(NewFileTest, AppearsWithCommit) {
  const std::string path = Folder("commit") + "/a";
  auto file = NewFile::Create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(write((*file)->fd(), "new", 3), 3);
  EXPECT_FALSE(IsFile(path));
  ASSERT_TRUE((*file)->Commit().ok());
  EXPECT_EQ(*ReadFile(path), "new");
}

TEST(NewFileTest, WithoutCommitTheOldFileStays) {
  const std::string folder = Folder("drop");
  const std::string path = folder + "/a";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  {
    auto file = NewFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(write((*file)->fd(), "new", 3), 3);
  }
  EXPECT_EQ(*ReadFile(path), "old");
  EXPECT_THAT(*ListFiles(folder, "", true), ElementsAre(path));
}

TEST(NewFileTest, FailedReplaceLeavesNoRubbish) {
  const std::string folder = Folder("failed");
  // A folder cannot be replaced by a file.
  mkdir((folder + "/target").c_str(), 0755);
  EXPECT_FALSE(WriteFileAtomically(folder + "/target", "new").ok());
  EXPECT_TRUE(IsFolder(folder + "/target"));
  EXPECT_THAT(*ListFiles(folder, "", true), IsEmpty());
}

TEST(NewFileTest, MissingFolderIsTheCallersMistake) {
  EXPECT_EQ(NewFile::Create("/no/such/folder/a").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
