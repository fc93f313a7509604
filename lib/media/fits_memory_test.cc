#include "lib/media/fits_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = 1 << 20;

TEST(FitsMemoryTest, NamesTheMostThatFits) {
  const std::vector<int64_t> sizes = {100 * kMiB, 20 * kMiB, 30 * kMiB};
  EXPECT_TRUE(CheckFitsMemory("d", sizes, kSpareMemory + 150 * kMiB).ok());
  const absl::Status tight =
      CheckFitsMemory("d", sizes, kSpareMemory + 150 * kMiB - 1);
  EXPECT_EQ(tight.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(tight.message()),
              HasSubstr("d: 3 decoded items take 150 MiB of memory and 214 MiB "
                        "are available; num_items=2 is the most that fits"));
}

TEST(FitsMemoryTest, SaysWhenNothingFits) {
  EXPECT_THAT(std::string(CheckFitsMemory("d", {1}, 0).message()),
              HasSubstr("not even one"));
  EXPECT_TRUE(CheckFitsMemory("d", {}, kSpareMemory).ok());
}

TEST(FitsMemoryTest, ThisMachineHasMemory) { EXPECT_GT(MemoryToUse(), kMiB); }

}  // namespace
}  // namespace feedrate
