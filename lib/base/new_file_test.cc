#include "lib/base/new_file.h"

#include <fcntl.h>
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

// A rename would turn /dev/null into a file, for everybody.
TEST(NewFileTest, WhatIsNoPlainFileIsWrittenInPlace) {
  const std::string folder = Folder("pipe");
  const std::string pipe = folder + "/p";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteFileAtomically(pipe, "through").ok());
  char buffer[16];
  EXPECT_EQ(read(reader, buffer, sizeof(buffer)), 7);
  close(reader);
  struct stat info;
  ASSERT_EQ(stat(pipe.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
  EXPECT_THAT(*ListFiles(folder, "", false), ElementsAre(pipe));
}

}  // namespace
}  // namespace feedrate
