#include "lib/storage/cache/cache_dir.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CacheDirTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/cache_dir.XXXXXX";
    options_.folder = mkdtemp(folder.data());
    options_.touch_s = 0;
    Reopen();
  }
  void TearDown() override {
    cache_ = nullptr;
    std::filesystem::remove_all(options_.folder);
  }

  void Reopen() {
    cache_ = nullptr;
    auto cache = CacheDir::Open(options_);
    ASSERT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
  }

  // Returns nothing for a miss.
  std::optional<std::string> Get(const std::string& key) {
    const std::optional<CacheDir::Entry> entry = cache_->Find(key);
    if (!entry.has_value()) return std::nullopt;
    std::string bytes(entry->bytes, '\0');
    EXPECT_EQ(pread(entry->fd.get(), bytes.data(), bytes.size(), 0),
              entry->bytes);
    if (!cache_->Verify(*entry)) return std::nullopt;
    return bytes;
  }

  std::vector<std::string> Files(const std::string& part) const {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(
             JoinPath(options_.folder, part))) {
      if (!file.is_directory()) files.push_back(file.path().string());
    }
    return files;
  }

  CacheOptions options_;
  std::unique_ptr<CacheDir> cache_;
};

TEST_F(CacheDirTest, KeepsBytesForOtherProcesses) {
  EXPECT_EQ(Get("a"), std::nullopt);
  ASSERT_TRUE(cache_->Insert("a", "hello").ok());
  ASSERT_TRUE(cache_->Insert("empty", "").ok());
  EXPECT_EQ(Get("a"), "hello");
  Reopen();
  EXPECT_EQ(Get("a"), "hello");
  EXPECT_EQ(Get("empty"), "");
  EXPECT_EQ(Get("b"), std::nullopt);
}

TEST_F(CacheDirTest, EqualBytesAreThereOnce) {
  ASSERT_TRUE(cache_->Insert("a", "same").ok());
  ASSERT_TRUE(cache_->Insert("b", "same").ok());
  EXPECT_THAT(Files("blobs"), SizeIs(1));
  EXPECT_THAT(Files("names"), SizeIs(2));
}

TEST_F(CacheDirTest, AKeyCanGetOtherBytes) {
  ASSERT_TRUE(cache_->Insert("a", "old").ok());
  ASSERT_TRUE(cache_->Insert("a", "new").ok());
  EXPECT_EQ(Get("a"), "new");
  Reopen();
  EXPECT_EQ(Get("a"), "new");
}

// Bytes that change on the disk are detected, even by a process that has
// verified them before.
TEST_F(CacheDirTest, NeverGivesOutWhatIsNotRight) {
  for (const bool seen : {false, true}) {
    ASSERT_TRUE(cache_->Insert("a", "hello").ok());
    if (seen) {
      EXPECT_EQ(Get("a"), "hello");
    }
    ASSERT_THAT(Files("blobs"), SizeIs(1));
    ASSERT_TRUE(WriteFileAtomically(Files("blobs")[0], "hellO").ok());
    EXPECT_EQ(Get("a"), std::nullopt);
    EXPECT_THAT(Files("blobs"), IsEmpty()) << "it is removed";
  }
  EXPECT_EQ(cache_->counts().bad_entries, 2);
  ASSERT_TRUE(cache_->Insert("a", "hello").ok());
  ASSERT_EQ(truncate(Files("blobs")[0].c_str(), 2), 0);
  EXPECT_EQ(Get("a"), std::nullopt);
  // A name that leads to something that is not an entry.
  ASSERT_TRUE(cache_->Insert("a", "hello").ok());
  const std::string name = Files("names")[0];
  ASSERT_EQ(unlink(name.c_str()), 0);
  ASSERT_EQ(symlink("/etc/passwd", name.c_str()), 0);
  Reopen();
  EXPECT_EQ(Get("a"), std::nullopt);
}

// Whoever can write the cache decides what is measured.
TEST_F(CacheDirTest, WhatOthersCanChangeIsRefused) {
  ASSERT_TRUE(cache_->Insert("a", "hello").ok());
  const std::string blob = Files("blobs")[0];
  const std::string name = Files("names")[0];
  cache_ = nullptr;
  const auto error = [this] {
    const auto cache = CacheDir::Open(options_);
    EXPECT_TRUE(absl::IsInvalidArgument(cache.status())) << cache.status();
    return std::string(cache.status().message());
  };
  std::vector<std::string> paths = {options_.folder, blob, ParentFolder(blob),
                                    ParentFolder(name)};
  for (const char* part : {"blobs", "names", "tmp", "bytes"}) {
    paths.push_back(JoinPath(options_.folder, part));
  }
  for (const std::string& path : paths) {
    struct stat info;
    ASSERT_EQ(lstat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 077, 0) << path;
    ASSERT_EQ(chmod(path.c_str(), (info.st_mode & 0777) | 020), 0);
    EXPECT_THAT(error(), HasSubstr(path + ": other users can write it"));
    ASSERT_EQ(chmod(path.c_str(), info.st_mode & 0777), 0);
    // Only root can, outside of a sandbox.
    if (chown(path.c_str(), 1234, 1234) != 0) continue;
    EXPECT_THAT(error(), HasSubstr(path + ": belongs to another user"));
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  Reopen();
  EXPECT_EQ(Get("a"), "hello");
  // While the cache is open.
  ASSERT_EQ(chmod(blob.c_str(), 0666), 0);
  EXPECT_EQ(Get("a"), std::nullopt);
}

TEST_F(CacheDirTest, LinksAreNotFollowed) {
  ASSERT_TRUE(cache_->Insert("a", "hello").ok());
  const std::string blob = Files("blobs")[0];
  cache_ = nullptr;
  const std::string away = options_.folder + ".away";
  for (const std::string& path :
       {blob, ParentFolder(blob), JoinPath(options_.folder, "blobs"),
        JoinPath(options_.folder, "tmp"), JoinPath(options_.folder, "bytes")}) {
    std::filesystem::rename(path, away);
    std::filesystem::create_symlink(away, path);
    const auto cache = CacheDir::Open(options_);
    EXPECT_FALSE(cache.ok()) << path;
    EXPECT_THAT(std::string(cache.status().message()), HasSubstr(path));
    std::filesystem::remove(path);
    std::filesystem::rename(away, path);
  }
  Reopen();
  EXPECT_EQ(Get("a"), "hello");
  std::filesystem::rename(blob, away);
  std::filesystem::create_symlink(away, blob);
  EXPECT_EQ(Get("a"), std::nullopt);
  std::filesystem::remove(away);
  ASSERT_EQ(unlink(blob.c_str()), 0);
  ASSERT_EQ(mkfifo(blob.c_str(), 0600), 0);
  EXPECT_EQ(Get("a"), std::nullopt);
}

TEST_F(CacheDirTest, WhatWasUsedLongestAgoGoesFirst) {
  options_.max_bytes = 1000;
  Reopen();
  const std::string bytes(300, 'x');
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_TRUE(cache_->Insert(key, bytes + key).ok());
  }
  EXPECT_NE(Get("a"), std::nullopt);  // Used again.
  ASSERT_TRUE(cache_->Insert("d", bytes + "d").ok());
  EXPECT_NE(Get("a"), std::nullopt);
  EXPECT_EQ(Get("b"), std::nullopt);
  EXPECT_NE(Get("d"), std::nullopt);
  EXPECT_GE(cache_->counts().evictions, 1);
  EXPECT_EQ(Files("blobs").size(), Files("names").size());
  EXPECT_EQ(cache_->Insert("e", std::string(1001, 'x')).code(),
            absl::StatusCode::kResourceExhausted);
  // A smaller limit applies from the start.
  options_.max_bytes = 400;
  Reopen();
  EXPECT_THAT(Files("blobs"), SizeIs(1));
}

// The count may be wrong after a kill, but the cache does not grow for long.
TEST_F(CacheDirTest, ALostCountIsMadeAnew) {
  options_.max_bytes = 1000;
  Reopen();
  for (int i = 0; i < 20; ++i) {
    const std::string count = JoinPath(options_.folder, "bytes");
    if (i == 7 || i == 13) {
      ASSERT_EQ(truncate(count.c_str(), i == 7 ? 0 : 3), 0);
    }
    ASSERT_TRUE(
        cache_->Insert(absl::StrCat(i), std::string(100, 'a' + i)).ok());
  }
  Reopen();
  EXPECT_LE(Files("blobs").size(), 10u);
}

TEST_F(CacheDirTest, ACountThatIsTooLargeIsMadeAnew) {
  options_.max_bytes = 1000;
  Reopen();
  for (int i = 0; i < 20; ++i) {
    // Whatever is added to it overflows.
    std::ofstream(JoinPath(options_.folder, "bytes"), std::ios::in)
        << "\xff\xff\xff\xff\xff\xff\xff\x7f";
    ASSERT_TRUE(
        cache_->Insert(absl::StrCat(i), std::string(100, 'a' + i)).ok());
    EXPECT_LE(Files("blobs").size(), 10u);
  }
}

TEST_F(CacheDirTest, WhatADeadProcessWroteIsSweptOut) {
  const pid_t child = fork();
  if (child == 0) {
    auto cache = CacheDir::Open(options_);
    auto writer = (*cache)->StartWriting(100);
    (*writer)->Map(100).IgnoreError();
    (void)(*cache)->MakeOwnFolder();
    _exit(0);  // Like a kill: no destructor runs.
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_THAT(Files("tmp"), SizeIs(2));
  // A living process's files stay.
  auto writer = cache_->StartWriting(5);
  ASSERT_TRUE(writer.ok());
  const auto mapped = (*writer)->Map(5);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  std::memcpy(*mapped, "whole", 5);
  ASSERT_TRUE(CacheDir::Open(options_).ok());
  EXPECT_THAT(Files("tmp"), SizeIs(2)) << "the owner's mark and its file";
  ASSERT_TRUE((*writer)->Commit("a").ok());
  EXPECT_EQ(Get("a"), "whole");
  *writer = nullptr;
  cache_ = nullptr;
  EXPECT_THAT(Files("tmp"), IsEmpty());
}

TEST_F(CacheDirTest, LinksOutliveEviction) {
  options_.max_bytes = 100;
  Reopen();
  ASSERT_TRUE(cache_->Insert("a", std::string(90, 'a')).ok());
  const auto folder = cache_->MakeOwnFolder();
  ASSERT_TRUE(folder.ok());
  const std::string path = JoinPath(*folder, "0.bin");
  ASSERT_TRUE(cache_->Link(*cache_->Find("a"), path).ok());
  ASSERT_TRUE(cache_->Insert("b", std::string(90, 'b')).ok());
  EXPECT_EQ(Get("a"), std::nullopt);
  EXPECT_EQ(*ReadFile(path), std::string(90, 'a'));
  cache_ = nullptr;
  EXPECT_FALSE(IsFile(path));
}

TEST_F(CacheDirTest, OtherPeoplesFoldersAreNoCaches) {
  cache_ = nullptr;
  std::filesystem::remove_all(options_.folder);
  ASSERT_TRUE(MakeFolder(options_.folder).ok());
  ASSERT_TRUE(
      WriteFileAtomically(JoinPath(options_.folder, "thesis.tex"), "x").ok());
  const auto cache = CacheDir::Open(options_);
  EXPECT_THAT(std::string(cache.status().message()), HasSubstr("thesis.tex"));
}

}  // namespace
}  // namespace feedrate
