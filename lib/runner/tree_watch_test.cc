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
  TreeWatch watch(getppid(), getpid(), 0);
  constexpr int64_t kBytes = int64_t{64} << 20;
  {
    std::vector<char> block(kBytes, 1);
    // The next may have begun before; the one after it sees all. How soon they
    // come depends on the machine.
    const int64_t enough = watch.looks() + 2;
    while (watch.looks() < enough) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_EQ(block[kBytes / 2], 1);
  }
  const std::optional<int64_t> peak = watch.Stop();
  if (!peak.has_value()) GTEST_SKIP() << "/proc/PID/smaps is not readable";
  EXPECT_GE(*peak, kBytes);
}

TEST(TreeWatchTest, AShortOneHasALookToo) {
  TreeWatch watch(getppid(), getpid(), 0);
  const std::optional<int64_t> peak = watch.Stop();
  if (!peak.has_value()) GTEST_SKIP() << "/proc/PID/smaps is not readable";
  EXPECT_GT(*peak, 0);
  EXPECT_EQ(watch.Stop(), peak) << "stopping twice does no harm";
}

}  // namespace
}  // namespace feedrate
