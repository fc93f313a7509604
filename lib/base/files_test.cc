#include "lib/base/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/new_file.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/files_test_" + name;
  mkdir(folder.c_str(), 0755);
  return folder;
}

TEST(FilesTest, ReadsWhatWasWritten) {
  const std::string path = Folder("round") + "/a";
  const std::string content("x\0y\n", 4);
  ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  EXPECT_EQ(*ReadFile(path), content);
}

TEST(FilesTest, ReadsFilesThatClaimToBeEmpty) {
  EXPECT_THAT(*ReadFile("/proc/self/status"), HasSubstr("Name:"));
}

TEST(FilesTest, MissingFileIsNotFoundAndNamed) {
  const auto read = ReadFile("no/such/file");
  EXPECT_EQ(read.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("no/such/file"));
}

TEST(FilesTest, FolderIsNotAFile) {
  EXPECT_EQ(ReadFile("/").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FilesTest, ListsSortedByEnding) {
  const std::string folder = Folder("list");
  mkdir((folder + "/sub").c_str(), 0755);
  for (const char* name : {"/b.txt", "/a.txt", "/c.bin", "/sub/d.txt"}) {
    ASSERT_TRUE(WriteFileAtomically(folder + name, "").ok());
  }
  EXPECT_THAT(*ListFiles(folder, ".txt", false),
              ElementsAre(folder + "/a.txt", folder + "/b.txt"));
  EXPECT_THAT(
      *ListFiles(folder, ".txt", true),
      ElementsAre(folder + "/a.txt", folder + "/b.txt", folder + "/sub/d.txt"));
  EXPECT_EQ(ListFiles(folder + "/none", "", true).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(FilesTest, MakesFoldersThatAreMissing) {
  const std::string folder = Folder("make");
  EXPECT_TRUE(MakeFolder(folder + "/a/b/").ok());
  EXPECT_TRUE(IsFolder(folder + "/a/b"));
  EXPECT_TRUE(MakeFolder(folder + "/a/b").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/file", "").ok());
  EXPECT_FALSE(MakeFolder(folder + "/file/c").ok());
}

TEST(FilesTest, SplitsAndJoinsPaths) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(ParentFolder("a/b/c"), "a/b");
  EXPECT_EQ(ParentFolder("/a"), "/");
  EXPECT_EQ(ParentFolder("a"), ".");
  EXPECT_EQ(BaseName("a/b.tar"), "b.tar");
  EXPECT_EQ(BaseName("b.tar"), "b.tar");
}

}  // namespace
}  // namespace feedrate
