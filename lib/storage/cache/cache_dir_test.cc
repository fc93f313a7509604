#include "lib/storage/cache/cache_dir.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
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

  // Nothing: a miss.
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

// Bytes that change on the disk are found out, also by a process that has seen
// them right before.
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
  // A name that leads to something that is no entry.
  ASSERT_TRUE(cache_->Insert("a", "hello").ok());
  const std::string name = Files("names")[0];
  ASSERT_EQ(unlink(name.c_str()), 0);
  ASSERT_EQ(symlink("/etc/passwd", name.c_str()), 0);
  Reopen();
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
  // A smaller limit is kept from the start.
  options_.max_bytes = 400;
  Reopen();
  EXPECT_THAT(Files("blobs"), SizeIs(1));
}

// The count may be wrong after a kill: it never lets the cache grow for long.
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

TEST_F(CacheDirTest, WhatADeadProcessWroteIsSweptOut) {
  const pid_t child = fork();
  if (child == 0) {
    auto cache = CacheDir::Open(options_);
    auto writer = (*cache)->StartWriting(100);
    (*writer)->Append("half").IgnoreError();
    (void)(*cache)->MakeOwnFolder();
    _exit(0);  // As a kill: no destructor runs.
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_THAT(Files("tmp"), SizeIs(2));
  // A living process's files stay.
  auto writer = cache_->StartWriting(5);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("whole").ok());
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
