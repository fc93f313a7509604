#include "lib/draw/number_text.h"

#include <cmath>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(SignificantTextTest, KeepsWholeDigitsAndGroupsThem) {
  EXPECT_EQ(SignificantText(0), "0");
  EXPECT_EQ(SignificantText(0.012345), "0.0123");
  EXPECT_EQ(SignificantText(1.2), "1.20");
  EXPECT_EQ(SignificantText(123.4), "123");
  EXPECT_EQ(SignificantText(12345.6), "12,346");
  EXPECT_EQ(SignificantText(-1234567), "-1,234,567");
}

TEST(SignificantTextTest, RoundsBeforeCountingDigits) {
  EXPECT_EQ(SignificantText(9.996), "10.0");
  EXPECT_EQ(SignificantText(999.6), "1,000");
}

TEST(SignificantTextTest, HasAWordForNoNumber) {
  EXPECT_EQ(SignificantText(NAN), "–");
  EXPECT_EQ(SignificantText(INFINITY), "–");
}

TEST(ShortNumberTextTest, UsesUnits) {
  EXPECT_EQ(ShortNumberText(0), "0");
  EXPECT_EQ(ShortNumberText(0.05), "0.05");
  EXPECT_EQ(ShortNumberText(2.5), "2.5");
  EXPECT_EQ(ShortNumberText(950), "950");
  EXPECT_EQ(ShortNumberText(1200), "1.2k");
  EXPECT_EQ(ShortNumberText(35000), "35k");
  EXPECT_EQ(ShortNumberText(2e6), "2M");
  EXPECT_EQ(ShortNumberText(-3e9), "-3G");
}

TEST(BytesTextTest, UsesPowersOfTwo) {
  EXPECT_EQ(BytesText(512), "512 B");
  EXPECT_EQ(BytesText(1536), "1.50 KiB");
  EXPECT_EQ(BytesText(3.0 * (1 << 30)), "3.00 GiB");
}

TEST(CoordinateTextTest, IsShort) {
  EXPECT_EQ(CoordinateText(1.0), "1");
  EXPECT_EQ(CoordinateText(1.256), "1.26");
  EXPECT_EQ(CoordinateText(-0.001), "0");
}

}  // namespace
}  // namespace feedrate
