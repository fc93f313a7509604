#include "lib/machine/reference_speed.h"

#include <sched.h>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ReferenceWorkTest, TimesSecondPassesWhereTheCommandsRun) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  ReferenceWork::Options options;
  options.folder = testing::TempDir();
  const std::vector<ReferenceWork::Time> times =
      ReferenceWork(options).TimeSecondPasses({sched_getcpu()});
  ASSERT_EQ(times.size(), 3);
  const char* const names[] = {"cpu", "memory", "disk"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(times[i].workload, names[i]);
    EXPECT_GT(times[i].seconds, 0);
  }
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  options.folder = "/proc/nowhere";
  EXPECT_EQ(ReferenceWork(options).TimeSecondPasses({}).size(), 2);
}

}  // namespace
}  // namespace feedrate
