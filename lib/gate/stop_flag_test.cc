#include "lib/gate/stop_flag.h"

#include <signal.h>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(StopFlagTest, ASignalSetsIt) {
  CatchStopSignals();
  EXPECT_FALSE(IsStopped());
  raise(SIGINT);
  EXPECT_TRUE(IsStopped());
}

}  // namespace
}  // namespace feedrate
