#include "lib/config/sweep.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SweepTest, ParsesAxes) {
  const auto axes = ParseSweep(" workers=0, 2,4 ; batch-size=64;");
  ASSERT_TRUE(axes.ok());
  ASSERT_EQ(axes->size(), 2u);
  EXPECT_EQ((*axes)[0].name(), "workers");
  EXPECT_THAT((*axes)[0].values(), ElementsAre("0", "2", "4"));
  EXPECT_EQ((*axes)[1].name(), "batch_size");
}

TEST(SweepTest, EmptyTextHasNoAxis) { EXPECT_TRUE(ParseSweep("")->empty()); }

TEST(SweepTest, SaysWhatIsWrong) {
  for (const char* text : {"workers", "workers=", "=1", "workers=,"}) {
    const auto axes = ParseSweep(text);
    ASSERT_FALSE(axes.ok()) << text;
    EXPECT_THAT(std::string(axes.status().message()), HasSubstr("no axis"));
  }
}

}  // namespace
}  // namespace feedrate
