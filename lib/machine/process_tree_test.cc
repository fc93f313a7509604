#include "lib/machine/process_tree.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/base/new_file.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

// A /proc of three processes: 10 started 11 from a second thread, 11 started
// 12.
class ProcessTreeTest : public testing::Test {
 protected:
  ProcessTreeTest() : root_(testing::TempDir()) {
    Write("10/task/10/children", "");
    Write("10/task/17/children", "11 ");
    Write("11/task/11/children", "12 ");
    Write("12/task/12/children", "");
    Write("10/smaps",
          "aa-ab r--p 0 00:01 9  /memfd:feedrate-corpus (deleted)\n"
          "Rss:  800 kB\nPss:  400 kB\nPss_Dirty:  4 kB\n"
          "ab-ac rw-p 0 00:00 0  [heap]\nPss:   100 kB\n");
    Write("11/smaps", "ab-ac rw-p 0 00:00 0\nPss:   20 kB\n");
    Write("10/io", "rchar: 5\nread_bytes: 4096\nwrite_bytes: 7\n");
    Write("12/io", "read_bytes: 100\n");
  }

  void Write(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/proc/" + name;
    ASSERT_TRUE(MakeFolder(ParentFolder(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  }

  const Root root_;
};

TEST_F(ProcessTreeTest, FollowsAllThreads) {
  EXPECT_THAT(ProcessTree(root_, 10), ElementsAre(10, 11, 12));
  EXPECT_THAT(ProcessTree(root_, 12), ElementsAre(12));
}

TEST_F(ProcessTreeTest, AddsUpMemoryWithoutTheCorpus) {
  EXPECT_THAT(TreePssBytes(root_, 10, "feedrate-corpus"), Optional(120 * 1024));
  EXPECT_THAT(TreePssBytes(root_, 10, ""), Optional(520 * 1024));
  EXPECT_FALSE(TreePssBytes(root_, 99, "").has_value());
}

TEST_F(ProcessTreeTest, AddsUpReads) {
  EXPECT_THAT(TreeReadBytes(root_, 10), Optional(4196));
  EXPECT_FALSE(TreeReadBytes(root_, 99).has_value());
}

}  // namespace
}  // namespace feedrate
