#include "lib/analysis/value.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseValueTest, EachKindOfJson) {
  EXPECT_EQ(ParseValue("\"kornia\"")->text, "kornia");
  EXPECT_EQ(ParseValue(R"("a\"bé")")->text, "a\"bé");
  EXPECT_EQ(ParseValue("256")->number, 256);
  EXPECT_EQ(ParseValue("-1.5e3")->number, -1500);
  EXPECT_EQ(ParseValue("true")->kind, Value::Kind::kTruth);
  EXPECT_TRUE(ParseValue("true")->truth);
  EXPECT_FALSE(ParseValue("false")->truth);
  EXPECT_THAT(ParseValue(R"(["cold","noisy"])")->list,
              ElementsAre("cold", "noisy"));
  EXPECT_EQ(ParseValue("[]")->kind, Value::Kind::kList);
}

TEST(ParseValueTest, NothingAndNullAreAbsent) {
  EXPECT_EQ(ParseValue("")->kind, Value::Kind::kAbsent);
  EXPECT_EQ(ParseValue("null")->kind, Value::Kind::kAbsent);
}

TEST(ParseValueTest, RefusesTheRestAndShowsIt) {
  for (const char* json :
       {"{}", "[1,2]", "[[\"a\"]]", "01x", "\"open", "nul"}) {
    const auto value = ParseValue(json);
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument)
        << json;
    EXPECT_THAT(std::string(value.status().message()), HasSubstr(json));
  }
}

TEST(ValueTextTest, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(ValueText(NumberValue(256)), "256");
  EXPECT_EQ(ValueText(NumberValue(-3)), "-3");
  EXPECT_EQ(ValueText(NumberValue(0.1)), "0.1");
  EXPECT_EQ(ValueText(NumberValue(123456789012.0)), "123456789012");
}

TEST(ValueTextTest, AbsenceAndEmptyTextAreADash) {
  EXPECT_EQ(ValueText(Value()), "-");
  EXPECT_EQ(ValueText(TextValue("")), "-");
}

TEST(ValueTextTest, ListsAndTruth) {
  EXPECT_EQ(ValueText(*ParseValue(R"(["a","b"])")), "a,b");
  EXPECT_EQ(ValueText(TruthValue(true)), "true");
}

TEST(ValueLessTest, AbsentThenNumbersBySizeThenText) {
  const std::vector<Value> ascending = {
      Value(), NumberValue(2), NumberValue(10), TextValue("1"), TextValue("b")};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(ValueLess(ascending[i], ascending[j]), i < j) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace feedrate
