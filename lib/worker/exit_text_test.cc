#include "lib/worker/exit_text.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ExitTextTest, SaysHowAProcessEnded) {
  EXPECT_EQ(ExitText(11), "killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(ExitText(6 | 0x80), "killed by SIGABRT (Aborted)");
  EXPECT_EQ(ExitText(3 << 8), "exited with code 3");
  EXPECT_EQ(ExitText(0), "exited with code 0");
}

}  // namespace
}  // namespace feedrate
