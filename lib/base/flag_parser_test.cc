#include "lib/base/flag_parser.h"

#include <string>
#include <vector>

#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

DEFINE_int64(test_items, 7, "N: for this test");
DEFINE_bool(test_dry, false, "for this test");
DEFINE_bool(test_on, true, "for this test");
DEFINE_string(test_name, "", "for this test");

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FlagParserTest : public ::testing::Test {
 private:
  gflags::FlagSaver saver_;
};

std::string ErrorOf(const std::vector<std::string>& args) {
  return std::string(ParseFlags(args).status().message());
}

TEST_F(FlagParserTest, HyphensAndUnderscoresAreAlike) {
  EXPECT_THAT(*ParseFlags({"--test-items=3"}), IsEmpty());
  EXPECT_EQ(FLAGS_test_items, 3);
  EXPECT_THAT(*ParseFlags({"--test_items", "4"}), IsEmpty());
  EXPECT_EQ(FLAGS_test_items, 4);
  EXPECT_THAT(*ParseFlags({"-test_items=-5"}), IsEmpty());
  EXPECT_EQ(FLAGS_test_items, -5);
}

TEST_F(FlagParserTest, HyphensInValuesStay) {
  ASSERT_TRUE(ParseFlags({"--test-name=a-b=c"}).ok());
  EXPECT_EQ(FLAGS_test_name, "a-b=c");
}

TEST_F(FlagParserTest, BooleansSwitchOnAndOff) {
  EXPECT_THAT(*ParseFlags({"--test-dry", "--no-test-on", "x"}),
              ElementsAre("x"));
  EXPECT_TRUE(FLAGS_test_dry);
  EXPECT_FALSE(FLAGS_test_on);
  ASSERT_TRUE(ParseFlags({"--notest_dry", "--test_on=true"}).ok());
  EXPECT_FALSE(FLAGS_test_dry);
  EXPECT_TRUE(FLAGS_test_on);
}

TEST_F(FlagParserTest, WhatIsNotAFlagIsReturned) {
  EXPECT_THAT(*ParseFlags({"a", "-", "-3", "--test-dry", "--", "--b"}),
              ElementsAre("a", "-", "-3", "--b"));
}

TEST_F(FlagParserTest, UnknownFlagNamesTheNearest) {
  EXPECT_EQ(ErrorOf({"--test-itmes=3"}),
            "unknown flag --test-itmes=3; did you mean --test_items?");
  EXPECT_EQ(ErrorOf({"--qqqqqqqqqq"}),
            "unknown flag --qqqqqqqqqq; --help lists the flags");
}

TEST_F(FlagParserTest, WrongValueSaysWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf({"--test-items=three"}),
            "--test_items: \"three\" is not a whole number");
  EXPECT_EQ(ErrorOf({"--test-items=99999999999999999999"}),
            "--test_items: \"99999999999999999999\" is not a whole number");
  EXPECT_EQ(ErrorOf({"--test-dry=maybe"}),
            "--test_dry: \"maybe\" is not true or false");
  EXPECT_EQ(FLAGS_test_items, 7);
}

TEST_F(FlagParserTest, MissingValueIsAnError) {
  EXPECT_THAT(ErrorOf({"--test-items"}), HasSubstr("a value is missing"));
  EXPECT_THAT(ErrorOf({"--no-test-dry=1"}), HasSubstr("takes no value"));
}

}  // namespace
}  // namespace feedrate
