#include "lib/machine/process_counters.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

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
  volatile int sink = 0;
  for (int i = 0; i < 1000000; ++i) sink = sink + i;
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

}  // namespace
}  // namespace feedrate
