#include "lib/draw/text_width.h"

#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(TextWidthTest, FollowsTheLetters) {
  EXPECT_GT(TextWidth("WWW", 10), TextWidth("iii", 10));
  EXPECT_DOUBLE_EQ(TextWidth("aa", 20), 2 * TextWidth("aa", 10));
  EXPECT_DOUBLE_EQ(TextWidth("é", 10), TextWidth("×", 10));
}

TEST(TextToFitTest, CutsOnlyWhatIsTooWide) {
  EXPECT_EQ(TextToFit("Blur", 10, 100), "Blur");
  const std::string cut = TextToFit("RandomResizedCropWithALongName", 10, 80);
  EXPECT_LE(TextWidth(cut, 10), 80);
  EXPECT_EQ(cut.substr(0, 4), "Rand");
  EXPECT_EQ(cut.substr(cut.size() - 4), "Name");
  EXPECT_NE(cut.find("…"), std::string::npos);
}

TEST(TextToFitTest, LeavesNoHalfCharacter) {
  for (int width = 5; width < 60; width += 3) {
    const std::string cut = TextToFit("éééééééééé", 10, width);
    EXPECT_EQ((cut.size() - 3) % 2, 0u) << width;
  }
}

}  // namespace
}  // namespace feedrate
