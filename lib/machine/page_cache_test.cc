#include "lib/machine/page_cache.h"

#include <sys/vfs.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/base/new_file.h"

namespace feedrate {
namespace {

// Files there are their pages; nothing can be dropped.
bool IsMemoryFileSystem(const std::string& folder) {
  constexpr auto kTmpfs = 0x01021994;
  struct statfs info = {};
  return statfs(folder.c_str(), &info) == 0 && info.f_type == kTmpfs;
}

std::string NewFileOf(const std::string& name, size_t bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, std::string(bytes, 'x')).ok());
  return path;
}

TEST(PageCacheTest, WhatWasReadIsThere) {
  const std::vector<std::string> files = {NewFileOf("a", 100000),
                                          NewFileOf("b", 1)};
  ASSERT_TRUE(ReadPages(files).ok());
  const auto fraction = ResidentFraction(files);
  ASSERT_TRUE(fraction.ok()) << fraction.status();
  EXPECT_EQ(*fraction, 1);
}

TEST(PageCacheTest, WhatWasDroppedIsGone) {
  const std::vector<std::string> files = {NewFileOf("c", 1 << 20)};
  ASSERT_TRUE(DropPages(files).ok());
  const auto fraction = ResidentFraction(files);
  ASSERT_TRUE(fraction.ok()) << fraction.status();
  if (IsMemoryFileSystem(testing::TempDir())) {
    EXPECT_EQ(*fraction, 1) << "a memory file system keeps its pages";
  } else {
    EXPECT_LT(*fraction, 0.05);
  }
}

TEST(PageCacheTest, NothingToReadIsThere) {
  EXPECT_EQ(ResidentFraction({}).value(), 1);
  EXPECT_EQ(ResidentFraction({NewFileOf("empty", 0)}).value(), 1);
}

TEST(PageCacheTest, AMissingFileIsNamed) {
  for (const absl::Status& status :
       {ResidentFraction({"/no/such.jpg"}).status(),
        DropPages({"/no/such.jpg"}), ReadPages({"/no/such.jpg"})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_NE(status.message().find("/no/such.jpg"), std::string::npos);
  }
}

}  // namespace
}  // namespace feedrate
