#include "lib/tar/number.h"

#include <gtest/gtest.h>

#include <string>

namespace feedrate::tar {
namespace {

int64_t Number(const std::string& field) {
  int64_t value = 0;
  EXPECT_TRUE(ParseNumber(field.data(), field.size(), &value));
  return value;
}

bool IsNumber(const std::string& field) {
  int64_t value = 0;
  return ParseNumber(field.data(), field.size(), &value);
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(ParseNumber, ReadsOctalHoweverItIsPadded) {
  EXPECT_EQ(Number(std::string("00000000017\0", 12)), 15);
  EXPECT_EQ(Number("        17 "), 15);
  EXPECT_EQ(Number("777777777777"), (int64_t{1} << 36) - 1);
  EXPECT_EQ(Number(std::string(12, '\0')), 0);
  EXPECT_EQ(Number(std::string(12, ' ')), 0);
}

TEST(ParseNumber, RefusesWhatIsNotOctal) {
  EXPECT_FALSE(IsNumber("00000000018 "));
  EXPECT_FALSE(IsNumber("-0000000017 "));
  EXPECT_FALSE(IsNumber("0x17"));
  EXPECT_FALSE(IsNumber(std::string("17\0\0junk", 8)));
}

TEST(ParseNumber, ReadsBase256) {
  EXPECT_EQ(Number(Bytes({0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0})),
            int64_t{1} << 33);
  EXPECT_EQ(Number(std::string(12, '\xff')), -1);
  EXPECT_EQ(Number(Bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe})),
            -2);
  // Eight bytes leave no room above the marker: bit 6 is the sign.
  EXPECT_EQ(Number(Bytes({0x80, 0, 0, 0, 0, 0, 1, 0})), 256);
}

TEST(ParseNumber, RefusesBase256PastInt64) {
  EXPECT_FALSE(IsNumber(Bytes({0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(IsNumber(Bytes({0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(
      IsNumber(Bytes({0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0})));
}

TEST(ParseDecimal, TakesDigitsAlone) {
  int64_t value = 0;
  EXPECT_TRUE(ParseDecimal("9223372036854775807", &value));
  EXPECT_EQ(value, INT64_MAX);
  EXPECT_FALSE(ParseDecimal("9223372036854775808", &value));
  EXPECT_FALSE(ParseDecimal("", &value));
  EXPECT_FALSE(ParseDecimal("-1", &value));
  EXPECT_FALSE(ParseDecimal("1 ", &value));
}

TEST(ParsePaxTime, KeepsNanoseconds) {
  Time time;
  ASSERT_TRUE(ParsePaxTime("1600000000.123456789123", &time));
  EXPECT_EQ(time.seconds, 1600000000);
  EXPECT_EQ(time.nanoseconds, 123456789);
  ASSERT_TRUE(ParsePaxTime("5.5", &time));
  EXPECT_EQ(time.nanoseconds, 500000000);
}

TEST(ParsePaxTime, CountsNanosecondsUpwardsBefore1970) {
  Time time;
  ASSERT_TRUE(ParsePaxTime("-1.25", &time));
  EXPECT_EQ(time.seconds, -2);
  EXPECT_EQ(time.nanoseconds, 750000000);
}

TEST(ParsePaxTime, RefusesGarbage) {
  Time time;
  for (const char* text : {"", "-", "x", "1.x", "1e9", "."}) {
    EXPECT_FALSE(ParsePaxTime(text, &time)) << text;
  }
}

}  // namespace
}  // namespace feedrate::tar
