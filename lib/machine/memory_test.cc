#include "lib/machine/memory.h"

#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

TEST(MemoryTest, ReadsTotalsAndSwapInUse) {
  FakeRoot files;
  files.Write("/proc/meminfo",
              "MemTotal:       65783648 kB\nMemFree:        1 kB\n"
              "SwapCached:            3 kB\n"
              "SwapTotal:       8388604 kB\nSwapFree:        8388600 kB\n");
  const MemoryInfo memory = ReadMemory(files.root());
  EXPECT_EQ(memory.total_bytes, int64_t{65783648} * 1024);
  EXPECT_EQ(memory.swap_bytes, int64_t{8388604} * 1024);
  EXPECT_EQ(memory.swap_used_bytes, 4096);
}

TEST(MemoryTest, AbsentOrGarbledIsZero) {
  FakeRoot files;
  EXPECT_EQ(ReadMemory(files.root()).total_bytes, 0);
  files.Write("/proc/meminfo", "MemTotal: lots\nSwapFree: 5 kB\nSwapTo");
  const MemoryInfo memory = ReadMemory(files.root());
  EXPECT_EQ(memory.total_bytes, 0);
  EXPECT_EQ(memory.swap_bytes, 0);
  EXPECT_EQ(memory.swap_used_bytes, 0);
}

TEST(MemoryTest, ThisMachineHasMemory) {
  EXPECT_GT(ReadMemory(Root()).total_bytes, 0);
}

}  // namespace
}  // namespace feedrate
