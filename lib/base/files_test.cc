#include "lib/base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/memory_file.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(FilesTest, CompressedContentIsNamed) {
  EXPECT_THAT(std::string(CheckNotCompressed("f", "\x1f\x8b\x08").message()),
              HasSubstr("f: is compressed with gzip; unpack it first"));
  for (const absl::string_view start :
       {absl::string_view("\x28\xb5\x2f\xfd rest"),
        absl::string_view("\x1f\x9d\x90"), absl::string_view("PK\x03\x04"),
        absl::string_view("]\0\0\1", 4),
        absl::string_view("\x04\x22\x4d\x18")}) {
    EXPECT_FALSE(CheckNotCompressed("f", start).ok());
  }
  EXPECT_THAT(std::string(CheckNotCompressed("f", "\xff\xfe{").message()),
              HasSubstr("f: is UTF-16; write it as UTF-8"));
  EXPECT_TRUE(CheckNotCompressed("f", "{\"schema\":1}").ok());
  EXPECT_TRUE(CheckNotCompressed("f", "").ok());
}

TEST(FilesTest, ReadsFilesThatClaimToBeEmpty) {
  EXPECT_THAT(*ReadFile("/proc/self/status"), HasSubstr("Name:"));
}

TEST(FilesTest, ADeviceWithoutEndIsNotRead) {
  const std::string link = testing::TempDir() + "/endless";
  ASSERT_EQ(symlink("/dev/zero", link.c_str()), 0);
  const absl::Status status = ReadFile(link).status();
  unlink(link.c_str());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            link +
                ": is a device, which may have no end; name a file or a "
                "pipe");
  EXPECT_EQ(*ReadFile("/dev/null"), "");
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
  ASSERT_EQ(mkfifo((folder + "/e.bin").c_str(), 0600), 0);
  ASSERT_EQ(symlink("c.bin", (folder + "/f.bin").c_str()), 0);
  ASSERT_EQ(symlink("e.bin", (folder + "/g.bin").c_str()), 0);
  EXPECT_THAT(*ListPlainFiles(folder, ".bin"),
              ElementsAre(folder + "/c.bin", folder + "/f.bin"));
}

TEST(FilesTest, FollowsLinksToFoldersButNotInCircles) {
  const std::string folder = Folder("links");
  const auto path = [&](const std::string& name) {
    return folder + "/" + name;
  };
  ASSERT_TRUE(MakeFolder(path("real/in")).ok());
  ASSERT_TRUE(WriteFileAtomically(path("real/in/a.txt"), "").ok());
  ASSERT_TRUE(MakeFolder(path("data")).ok());
  ASSERT_EQ(symlink("../real", path("data/one").c_str()), 0);
  ASSERT_EQ(symlink("../real/in", path("data/two").c_str()), 0);
  ASSERT_EQ(symlink("../../real", path("real/in/up").c_str()), 0);
  ASSERT_EQ(symlink(".", path("data/self").c_str()), 0);
  std::vector<std::string> loops;
  EXPECT_THAT(*ListFiles(path("data"), ".txt", true, &loops),
              ElementsAre(path("data/one/in/a.txt"), path("data/two/a.txt")));
  EXPECT_THAT(loops, ElementsAre(path("data/one/in/up"), path("data/self"),
                                 path("data/two/up/in")));
}

TEST(FilesTest, OnlyPlainFilesAreData) {
  const std::string folder = Folder("plain");
  const auto path = [&](const std::string& name) {
    return folder + "/" + name;
  };
  ASSERT_TRUE(WriteFileAtomically(path("file"), "four").ok());
  ASSERT_EQ(symlink("file", path("link").c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", path("zero").c_str()), 0);
  ASSERT_EQ(symlink("none", path("nowhere").c_str()), 0);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(*PlainFileBytes(path("file")), 4);
  EXPECT_EQ(*PlainFileBytes(path("link")), 4);
  for (const auto& [name, what] : std::map<std::string, std::string>{
           {"zero", "a device"}, {"pipe", "a named pipe"}, {"", "a folder"}}) {
    const absl::Status status = PlainFileBytes(path(name)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              path(name) + ": is " + what +
                  "; only plain files are data, so remove it");
  }
  EXPECT_EQ(PlainFileBytes(path("nowhere")).status().code(),
            absl::StatusCode::kNotFound);
}

// A sparse file takes no space, whatever its size is.
TEST(FilesTest, AFileLargerThanMemoryIsAnError) {
  const std::string path = Folder("large") + "/file";
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  if (truncate(path.c_str(), off_t{1} << 43) != 0) {
    GTEST_SKIP() << "no sparse files here";
  }
  const absl::Status status = ReadFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  unlink(path.c_str());
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

// Another user of /tmp can guess the name.
TEST(NewFileTest, ALinkInItsPlaceIsNotFollowed) {
  const std::string folder = Folder("trap");
  ASSERT_TRUE(WriteFileAtomically(folder + "/precious", "old").ok());
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "/new." + std::to_string(getpid()) + "." +
                             (i == 0 ? "" : std::to_string(i - 1) + ".") +
                             "tmp";
    ASSERT_EQ(symlink("precious", (folder + name).c_str()), 0);
  }
  ASSERT_TRUE(WriteFileAtomically(folder + "/new", "new").ok());
  EXPECT_EQ(*ReadFile(folder + "/new"), "new");
  EXPECT_EQ(*ReadFile(folder + "/precious"), "old");
}

TEST(NewFileTest, FailedReplaceLeavesNoRubbish) {
  const std::string folder = Folder("failed");
  // A folder cannot be replaced by a file.
  mkdir((folder + "/target").c_str(), 0755);
  EXPECT_FALSE(WriteFileAtomically(folder + "/target", "new").ok());
  EXPECT_TRUE(IsFolder(folder + "/target"));
  EXPECT_THAT(*ListFiles(folder, "", true), IsEmpty());
}

TEST(NewFileTest, FoldersAboveItAreMade) {
  const std::string file = Folder("above") + "/some/folder/a";
  ASSERT_TRUE(WriteFileAtomically(file, "text").ok());
  EXPECT_EQ(*ReadFile(file), "text");
  // A file is in the place of a folder: the caller's mistake.
  EXPECT_EQ(NewFile::Create(file + "/b").status().code(),
            absl::StatusCode::kNotFound);
}

// A rename would replace /dev/null by a file, for everybody.
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

constexpr size_t kBytes = 4096;

UniqueFd MakeFile(unsigned flags) {
  UniqueFd fd(memfd_create("test", flags));
  EXPECT_EQ(ftruncate(fd.get(), kBytes), 0);
  return fd;
}

TEST(FileNameOfTest, NeverLeavesAFolder) {
  EXPECT_EQ(FileNameOf("neoverse-n1_2.5,cpus:4"), "neoverse-n1_2.5,cpus:4");
  EXPECT_EQ(FileNameOf("../outside/evil"), "%2e.%2foutside%2fevil");
  EXPECT_EQ(FileNameOf("."), "%2e");
  EXPECT_EQ(FileNameOf(".hidden"), "%2ehidden");
  EXPECT_EQ(FileNameOf("a b%\n"), "a%20b%25%0a");
  EXPECT_EQ(FileNameOf(absl::string_view("a\0", 2)), "a%00");
  EXPECT_EQ(FileNameOf(""), "%");
}

TEST(CheckStaysBelowTest, RefusesWhatLeadsOut) {
  EXPECT_TRUE(CheckStaysBelow("a/b..c/.d.jsonl").ok());
  for (const char* bad : {"", "/a", "a//b", "a/", ".", "a/./b", "..", "../a",
                          "a/../../b", "a/.."}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckStaysBelow(bad))) << bad;
  }
}

TEST(SealMemoryTest, NothingIsWrittenAnyMore) {
  const UniqueFd fd = MakeFile(MFD_ALLOW_SEALING);
  ASSERT_TRUE(SealMemory(fd.get()));
  EXPECT_EQ(write(fd.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(fd.get(), 1), 0);
}

// The kernel returns EBUSY while there is a writable mapping.
TEST(SealMemoryTest, WaitsForWhoeverStillHoldsIt) {
  const UniqueFd fd = MakeFile(MFD_ALLOW_SEALING);
  void* const map = mmap(nullptr, kBytes, PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  std::thread holder([map] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    munmap(map, kBytes);
  });
  EXPECT_TRUE(SealMemory(fd.get()));
  holder.join();
}

TEST(SealMemoryTest, WhatCannotBeSealedIsSaidAtOnce) {
  const UniqueFd fd = MakeFile(0);
  EXPECT_FALSE(SealMemory(fd.get()));
  EXPECT_EQ(errno, EPERM);
}

}  // namespace
}  // namespace feedrate
