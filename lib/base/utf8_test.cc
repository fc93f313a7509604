#include "lib/base/utf8.h"

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(Utf8LengthTest, FirstAndLastOfEachLength) {
  EXPECT_EQ(Utf8Length(absl::string_view("\0", 1)), 1);
  EXPECT_EQ(Utf8Length("\x7Fx"), 1);
  EXPECT_EQ(Utf8Length("\xC2\x80x"), 2);
  EXPECT_EQ(Utf8Length("\xDF\xBF"), 2);
  EXPECT_EQ(Utf8Length("\xE0\xA0\x80"), 3);
  EXPECT_EQ(Utf8Length("\xED\x9F\xBF"), 3);
  EXPECT_EQ(Utf8Length("\xEE\x80\x80"), 3);
  EXPECT_EQ(Utf8Length("\xF0\x90\x80\x80"), 4);
  EXPECT_EQ(Utf8Length("\xF4\x8F\xBF\xBF"), 4);
}

TEST(Utf8LengthTest, WhatIsNoCharacter) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(Utf8Length(text), 0) << text;
  }
}

}  // namespace
}  // namespace feedrate
