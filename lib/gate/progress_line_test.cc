#include "lib/gate/progress_line.h"

#include <sstream>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ProgressLineTest, ALogGetsALineNowAndThen) {
  std::ostringstream out;
  absl::Time now = absl::UnixEpoch();
  ProgressLine line("duel", &out, false, [&now] { return now; });
  line.Show("pair 1", 0, 10);
  now += absl::Seconds(5);
  line.Show("pair 2", 1, 10);
  now += absl::Seconds(5);
  line.Show("pair 3", 2, 10);
  line.Clear();
  EXPECT_EQ(out.str(), "duel: pair 1\nduel: pair 3, about 40 s left\n");
}

TEST(ProgressLineTest, ATerminalIsWrittenOver) {
  std::ostringstream out;
  absl::Time now = absl::UnixEpoch();
  ProgressLine line("duel", &out, true, [&now] { return now; });
  now += absl::Seconds(100);
  line.Show("pair 2", 1, 10);
  line.Clear();
  EXPECT_EQ(out.str(), "\r\x1b[Kduel: pair 2, about 15 min left\r\x1b[K");
}

}  // namespace
}  // namespace feedrate
