#include "lib/storage/remote/content_range.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ContentRangeTest, ReadsWhatServersSend) {
  const auto range = ParseContentRange("bytes 5-9/100");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 5);
  EXPECT_EQ(range->last, 9);
  EXPECT_EQ(range->total, 100);
  EXPECT_EQ(ParseContentRange("bytes 0-0/*")->total, -1);
  EXPECT_EQ(ParseContentRange("bytes */0")->total, 0);
  EXPECT_EQ(ParseContentRange("bytes */0")->first, -1);
}

TEST(ContentRangeTest, RefusesTheRest) {
  for (const char* bad :
       {"", "bytes", "bytes 5-4/9", "bytes -1-4/9", "bytes 1-/9", "bytes 1-4",
        "bytes 1-4/", "bytes 1-4/-9", "bytes 1-4/99999999999999999999", "0-1/2",
        "items 0-1/2"}) {
    EXPECT_FALSE(ParseContentRange(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace feedrate
