#include "lib/tar/stage/progress.h"

#include <gtest/gtest.h>

namespace feedrate::tar {
namespace {

TEST(HumanBytes, KeepsThreeDigits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1000), "1.00 kB");
  EXPECT_EQ(HumanBytes(999999), "1.00 MB");
  EXPECT_EQ(HumanBytes(14136559616.0), "14.1 GB");
  EXPECT_EQ(HumanBytes(123456789.0), "123 MB");
}

TEST(ProgressLine, SaysWhatIsLeft) {
  EXPECT_EQ(ProgressLine("val.tar", 500000000, 2000000000, 1.0),
            "val.tar: [#####---------------]  25%  500 MB of 2.00 GB  "
            "500 MB/s  ETA 0:00:03");
}

TEST(ProgressLine, DoesWithoutATotal) {
  EXPECT_EQ(ProgressLine("stdin", 1500, std::nullopt, 0.5),
            "stdin: 1.50 kB  3.00 kB/s");
}

TEST(ProgressLine, StaysSaneAtTheEdges) {
  EXPECT_EQ(ProgressLine("x", 0, 10, 0.0),
            "x: [--------------------]   0%  0 B of 10 B  0 B/s");
  // More than was announced.
  EXPECT_EQ(ProgressLine("x", 20, 10, 1.0),
            "x: [####################] 100%  20 B of 10 B  20 B/s  ETA "
            "0:00:00");
}

}  // namespace
}  // namespace feedrate::tar
