#include "lib/media/video/clip_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(ClipRuleTest, UniformIsWhatNumpyCutsToWholeNumbers) {
  // numpy.linspace(0, 174, 16, dtype=int).
  EXPECT_THAT(ClipFrames(ClipRule::kUniform, 175, 16, 1, 0),
              ElementsAre(0, 11, 23, 34, 46, 58, 69, 81, 92, 104, 116, 127, 139,
                          150, 162, 174));
  // The same of 17 frames: one is left out.
  EXPECT_THAT(
      ClipFrames(ClipRule::kUniform, 17, 16, 1, 0),
      ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16));
}

TEST(ClipRuleTest, ShortVideosRepeatTheirLastFrame) {
  for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
    EXPECT_THAT(ClipFrames(rule, 3, 5, 1, 0), ElementsAre(0, 1, 2, 2, 2));
    EXPECT_THAT(ClipFrames(rule, 1, 2, 1, 0), ElementsAre(0, 0));
    EXPECT_THAT(ClipFrames(rule, 4, 4, 1, 0), ElementsAre(0, 1, 2, 3));
  }
  EXPECT_THAT(ClipFrames(ClipRule::kUniform, 9, 1, 1, 0), ElementsAre(0));
}

TEST(ClipRuleTest, ConsecutiveStartsWhereSeedAndItemSay) {
  std::set<int64_t> starts;
  for (int64_t item = 0; item < 200; ++item) {
    const std::vector<int64_t> frames =
        ClipFrames(ClipRule::kConsecutive, 20, 16, 7, item);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(frames[i], frames[0] + i);
    starts.insert(frames[0]);
    EXPECT_EQ(frames, ClipFrames(ClipRule::kConsecutive, 20, 16, 7, item));
  }
  EXPECT_THAT(starts, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_NE(ClipFrames(ClipRule::kConsecutive, 1000, 16, 7, 1),
            ClipFrames(ClipRule::kConsecutive, 1000, 16, 8, 1));
}

TEST(ClipRuleTest, NamesAreReadAgain) {
  for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
    EXPECT_EQ(ParseClipRule(ClipRuleName(rule)).value(), rule);
  }
  EXPECT_EQ(ParseClipRule("dense").status().message(),
            "clip rule \"dense\" is unknown; use one of uniform, consecutive");
}

}  // namespace
}  // namespace feedrate
