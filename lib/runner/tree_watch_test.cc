#include "lib/runner/tree_watch.h"

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(TreeWatchTest, SeesMemoryThatIsGoneAgain) {
  TreeWatch watch(getpid());
  constexpr int64_t kBytes = int64_t{64} << 20;
  {
    std::vector<char> block(kBytes, 1);
    // Looks come at least every second for a process of this size.
    absl::SleepFor(absl::Milliseconds(1500));
    EXPECT_EQ(block[kBytes / 2], 1);
  }
  const std::optional<int64_t> peak = watch.Stop();
  if (!peak.has_value()) GTEST_SKIP() << "/proc/PID/smaps is not readable";
  EXPECT_GE(*peak, kBytes);
}

TEST(TreeWatchTest, AShortOneHasALookToo) {
  TreeWatch watch(getpid());
  const std::optional<int64_t> peak = watch.Stop();
  if (!peak.has_value()) GTEST_SKIP() << "/proc/PID/smaps is not readable";
  EXPECT_GT(*peak, 0);
  EXPECT_EQ(watch.Stop(), peak) << "stopping twice does no harm";
}

}  // namespace
}  // namespace feedrate
