#include "lib/base/interrupt.h"

#include <poll.h>
#include <signal.h>

#include "gtest/gtest.h"
#include "lib/base/exit_code.h"

namespace feedrate {
namespace {

bool Readable(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(InterruptTest, CtrlCIsNotedAndEndsNothing) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.happened());
  EXPECT_FALSE(Readable(interrupt.fd()));
  raise(SIGINT);
  EXPECT_TRUE(interrupt.happened());
  EXPECT_TRUE(Readable(interrupt.fd()));
  EXPECT_EQ(interrupt.exit_code(), ExitCode::kInterrupted);
}

TEST(InterruptTest, ATerminatedRunFailed) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.happened());
  raise(SIGTERM);
  EXPECT_EQ(interrupt.exit_code(), ExitCode::kRunFailed);
}

TEST(InterruptDeathTest, ASecondSignalEndsIt) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        raise(SIGINT);
        raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace feedrate
