#include "lib/draw/progress.h"

#include <sstream>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

class ProgressTest : public testing::Test {
 protected:
  Progress Make(bool is_terminal) {
    return Progress(out_, is_terminal, [this] { return now_; });
  }

  std::ostringstream out_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(ProgressTest, ATerminalGetsALineThatIsDrawnOver) {
  Progress progress = Make(true);
  progress.Show("transforms", 0, 4, "Resize pillow");
  now_ += absl::Seconds(3);
  progress.Show("transforms", 1, 4, "Rotate");
  progress.Finish();
  EXPECT_EQ(out_.str(),
            "\rtransforms [....................] 0/4  Resize pillow"
            "\rtransforms [#####...............] 1/4  Rotate  9s left"
            "\r" +
                std::string(54, ' ') + "\r");
}

TEST_F(ProgressTest, ATerminalIsNotDrawnToFasterThanPeopleRead) {
  Progress progress = Make(true);
  progress.Show("images", 0, 4000, "");
  const size_t once = out_.str().size();
  for (int i = 0; i < 1000; ++i) progress.Show("images", i, 4000, "");
  EXPECT_EQ(out_.str().size(), once);
}

TEST_F(ProgressTest, ALogGetsALineNowAndThen) {
  Progress progress = Make(false);
  for (int i = 0; i < 60; ++i) {
    progress.Show("images", i, 60, "");
    now_ += absl::Seconds(1);
  }
  progress.Finish();
  EXPECT_EQ(out_.str(),
            "images 10/60, 50s left\nimages 20/60, 40s left\n"
            "images 30/60, 30s left\nimages 40/60, 20s left\n"
            "images 50/60, 10s left\n");
}

TEST_F(ProgressTest, WithoutATotalThereIsNoBar) {
  Progress progress = Make(true);
  progress.Show("calibrate", 0, 0, "A against A, pair 3");
  progress.Finish();
  EXPECT_EQ(out_.str(),
            "\rcalibrate: A against A, pair 3\r" + std::string(30, ' ') + "\r");
}

TEST_F(ProgressTest, MoreThanTheTotalIsAFullBar) {
  Progress progress = Make(true);
  progress.Show("pairs", 5, 4, "");
  progress.Finish();
  EXPECT_EQ(out_.str().substr(0, 34), "\rpairs [####################] 5/4\r");
}

TEST_F(ProgressTest, WhatIsOverAtOnceLeavesNoTraceInALog) {
  Progress progress = Make(false);
  progress.Show("libraries", 0, 2, "opencv");
  progress.Show("images", 1, 2, "");
  progress.Finish();
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace feedrate
