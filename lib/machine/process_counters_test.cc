#include "lib/machine/process_counters.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

class ProcessCountersTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string full = folder_ + path;
    ASSERT_TRUE(MakeFolder(ParentFolder(full)).ok());
    std::ofstream(full) << text;
  }

  const std::string folder_ = testing::TempDir() + "/process_counters";
};

TEST_F(ProcessCountersTest, ReadsARecordedProcess) {
  Write("/proc/7/stat",
        "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 5 0 120 30 0 0 20 0 1 0 1\n");
  Write("/proc/7/schedstat", "1500000000 2500000 12\n");
  Write("/proc/7/status",
        "VmHWM:\t  3000 kB\nRssShmem:\t  1000 kB\n"
        "voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n");
  Write("/proc/7/sched", "se.nr_migrations      :        6\n");
  const ProcessCounters counters = ReadProcessCounters(Root(folder_), 7);
  EXPECT_DOUBLE_EQ(*counters.cpu_s, 150.0 / sysconf(_SC_CLK_TCK));
  EXPECT_EQ(counters.major_faults, 5);
  EXPECT_DOUBLE_EQ(*counters.run_delay_s, 2.5e-3);
  EXPECT_EQ(counters.involuntary_switches, 4);
  EXPECT_EQ(counters.migrations, 6);
  EXPECT_EQ(counters.rss_peak_bytes, 2000 * 1024);
}

TEST_F(ProcessCountersTest, AProcessThatIsGoneHasNone) {
  const ProcessCounters counters = ReadProcessCounters(Root(folder_), 8);
  EXPECT_FALSE(counters.cpu_s.has_value());
  EXPECT_FALSE(counters.migrations.has_value());
  EXPECT_FALSE(counters.rss_peak_bytes.has_value());
}

TEST_F(ProcessCountersTest, OwnProcessorTimeRises) {
  const double before = *ReadProcessCounters(Root(), getpid()).cpu_s;
  volatile unsigned sink = 0;
  for (unsigned i = 0; i < 1000000; ++i) sink = sink + i;
  EXPECT_GT(*ReadProcessCounters(Root(), getpid()).cpu_s, before);
}

TEST_F(ProcessCountersTest, ReadsAllProcessors) {
  Write("/proc/stat",
        "cpu  100 1 50 900 7 2 3 40 0 0\ncpu0 1 2\ncpu1 1 2\nintr 5\n");
  const ProcessorCounters counters = ReadProcessorCounters(Root(folder_));
  EXPECT_EQ(counters.processors, 2);
  EXPECT_DOUBLE_EQ(*counters.steal_s, 40.0 / sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(*counters.busy_s, 156.0 / sysconf(_SC_CLK_TCK));
}

// A /proc of a few processes: 9 started 10 and 20, 10 started 11 from a second
// thread, 11 started 12.
class ProcessTreeTest : public testing::Test {
 protected:
  ProcessTreeTest() : root_(testing::TempDir()) {
    Write("9/task/9/children", "10 20 ");
    Write("20/task/20/children", "");
    Write("10/task/10/children", "");
    Write("10/task/17/children", "11 ");
    Write("11/task/11/children", "12 ");
    Write("12/task/12/children", "");
    Write("10/smaps",
          "aa-ab r--p 0 00:01 9  /memfd:feedrate-corpus (deleted)\n"
          "Rss:  800 kB\nPss:  400 kB\nPss_Dirty:  4 kB\n"
          "ab-ac rw-p 0 00:00 0  [heap]\nPss:   100 kB\nPss_Dirty:  90 kB\n");
    Write("11/smaps", "ab-ac rw-p 0 00:00 0\nPss:   20 kB\n");
    Write("9/smaps", "ab-ac rw-p 0 00:00 0\nPss:   3 kB\n");
    Write("20/smaps",
          "ab-ac rw-p 0 00:00 0\nPss:   1000 kB\nPrivate_Clean: 100 kB\n"
          "Private_Dirty:    893 kB\n");
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
  // The tree has 100 and 20, its parent 3, and the shared pages of a sibling 7.
  EXPECT_THAT(TreePssBytes(root_, 9, 10, "feedrate-corpus"),
              Optional(130 * 1024));
  EXPECT_THAT(TreePssBytes(root_, 9, 10, ""), Optional(530 * 1024));
  EXPECT_FALSE(TreePssBytes(root_, 98, 99, "").has_value());
  // Where a process has no such lines, all of it counts.
  EXPECT_THAT(TreePssBytes(root_, 9, 10, "feedrate-corpus", PssOf::kWritten),
              Optional(120 * 1024));
}

TEST_F(ProcessTreeTest, AddsUpReads) {
  const std::optional<ReadBytes> read = TreeReadBytes(root_, 10);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->device, 4196);
  EXPECT_EQ(read->calls, 5);
  EXPECT_FALSE(TreeReadBytes(root_, 99).has_value());
}

}  // namespace
}  // namespace feedrate
