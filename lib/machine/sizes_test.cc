#include "lib/machine/sizes.h"

#include <gtest/gtest.h>

namespace feedrate {
namespace {

TEST(SizesTest, Units) {
  EXPECT_EQ(ParseSize("4096"), 4096);
  EXPECT_EQ(ParseSize("48K\n"), 48 * 1024);
  EXPECT_EQ(ParseSize(" 105M"), 105 * 1024 * 1024);
  EXPECT_EQ(ParseSize("2G"), int64_t{2} << 30);
  EXPECT_EQ(ParseSize("263842304 kB"), int64_t{263842304} * 1024);
  EXPECT_EQ(ParseSize("0 kB"), 0);
}

TEST(SizesTest, NoSize) {
  for (const char* text : {"", "K", "-1", "-1K", "12Q", "1.5M", "max",
                           "9223372036854775807K", "99999999999999999999"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(SizesTest, AFlagIsNamed) {
  EXPECT_EQ(*SizeOfFlag("--x", "2K", 1), 2048);
  EXPECT_EQ(*SizeOfFlag("--x", "0", 0), 0);
  EXPECT_EQ(SizeOfFlag("--x", "2Q", 1).status().message(),
            "--x: \"2Q\" is no size; write it as 500M or 2G");
  EXPECT_EQ(SizeOfFlag("--x", "0", 1).status().message(),
            "--x: 0 is too small; use at least 1 bytes, such as 500M");
}

}  // namespace
}  // namespace feedrate
