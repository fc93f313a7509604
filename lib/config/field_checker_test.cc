#include "lib/config/field_checker.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/config/places.h"

namespace feedrate {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

FieldChecker Checker() {
  Places places("f");
  places.Set("a", "f:1:2");
  places.Set("b", "--b");
  return FieldChecker(places);
}

std::string Text(const absl::Status& status) {
  EXPECT_TRUE(status.ok() ||
              status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(FieldCheckerTest, ErrorsHaveThePlaceAndTheField) {
  EXPECT_EQ(Text(Checker().Error("a.x", "is wrong")), "f:1:2: a.x: is wrong");
  EXPECT_EQ(Text(Checker().Error("b", "is wrong")), "--b: is wrong");
  EXPECT_EQ(Text(Checker().Error("c", "is wrong")), "f: c: is wrong");
}

TEST(FieldCheckerTest, OneOfSaysWhatWouldBeRight) {
  const std::vector<std::string> known = {"micro", "pipeline"};
  EXPECT_EQ(Text(Checker().OneOf("a", "micro", known)), "");
  EXPECT_EQ(Text(Checker().OneOf("a", "mirco", known)),
            "f:1:2: a: \"mirco\" is unknown; did you mean \"micro\"?");
  EXPECT_EQ(Text(Checker().OneOf("a", "other", known)),
            "f:1:2: a: \"other\" is unknown; use one of micro, pipeline");
  EXPECT_EQ(Text(Checker().OneOf("a", "", known)),
            "f:1:2: a: is missing; use one of micro, pipeline");
}

TEST(FieldCheckerTest, AtLeast) {
  EXPECT_EQ(Text(Checker().AtLeast("a", 1, 1)), "");
  EXPECT_EQ(Text(Checker().AtLeast("a", 0, 1)),
            "f:1:2: a: 0 is not possible; use at least 1");
  EXPECT_EQ(Text(Checker().AtLeast("a", -2147483648.0, 1)),
            "f:1:2: a: -2147483648 is not possible; use at least 1");
  EXPECT_EQ(Text(Checker().AtLeast("a", -0x1p63, 0)),
            "f:1:2: a: -9223372036854775808 is not possible; use at least 0");
  EXPECT_EQ(Text(Checker().AtLeast("a", -0.25, 0)),
            "f:1:2: a: -0.25 is not possible; use at least 0");
  EXPECT_EQ(Text(Checker().AtLeast("a", std::nan(""), 0)),
            "f:1:2: a: nan is not possible; use at least 0");
  EXPECT_EQ(Text(Checker().AtLeast("a", kInf, 0)),
            "f:1:2: a: inf is not possible; use at least 0");
}

TEST(FieldCheckerTest, AtMost) {
  EXPECT_EQ(Text(Checker().AtMost("a", 10000, 10000)), "");
  EXPECT_EQ(Text(Checker().AtMost("a", 2147483647, 10000)),
            "f:1:2: a: 2147483647 is not possible; use at most 10000");
  EXPECT_NE(Text(Checker().AtMost("a", std::nan(""), 1)), "");
}

TEST(FieldCheckerTest, Above) {
  EXPECT_EQ(Text(Checker().Above("a", 0.001, 0)), "");
  EXPECT_EQ(Text(Checker().Above("a", 0, 0)),
            "f:1:2: a: 0 is not possible; use a number above 0");
  EXPECT_NE(Text(Checker().Above("a", kInf, 0)), "");
  EXPECT_NE(Text(Checker().Above("a", std::nan(""), 0)), "");
}

TEST(FieldCheckerTest, DistinctNamesTheSecond) {
  const std::vector<std::string> names = {"x", "y", "x"};
  EXPECT_EQ(Text(Checker().Distinct("a", names)),
            "f:1:2: a[2]: \"x\" is listed twice");
  EXPECT_EQ(Text(Checker().Distinct("a", std::vector<std::string>{"x"})), "");
}

}  // namespace
}  // namespace feedrate
