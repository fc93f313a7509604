#include "lib/config/places.h"

#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<int, int>> Of(const std::string& text, int line,
                                    int column) {
  std::vector<std::pair<int, int>> places;
  for (const TextPlace& place : ValuePlaces(text).Of({line, column})) {
    places.emplace_back(place.line, place.column);
  }
  return places;
}

TEST(ValuePlacesTest, ASingleValueIsAtItsName) {
  EXPECT_THAT(Of("a: 1 b: \"x\"", 0, 5), ElementsAre(Pair(0, 5)));
  EXPECT_THAT(Of("a { b: [1] }", 0, 0), ElementsAre(Pair(0, 0)));
}

TEST(ValuePlacesTest, ValuesOfAListHaveTheirOwn) {
  EXPECT_THAT(Of("x: 1 a: [\"p\", \"q\" 'r',\n  # no, [\n  3]", 0, 5),
              ElementsAre(Pair(0, 9), Pair(0, 14), Pair(2, 2)));
  EXPECT_THAT(Of("\n\n a: [ -1 , .5f ]", 2, 1),
              ElementsAre(Pair(2, 6), Pair(2, 11)));
}

TEST(ValuePlacesTest, MessagesInAList) {
  EXPECT_THAT(Of("s: [{ v: [1, 2] }, < v: 3, w: 4 >, {}]", 0, 0),
              ElementsAre(Pair(0, 4), Pair(0, 19), Pair(0, 35)));
  EXPECT_THAT(Of("s [{}]", 0, 0), ElementsAre(Pair(0, 3)));
}

TEST(ValuePlacesTest, EmptyListAndNoText) {
  EXPECT_THAT(Of("a: []", 0, 0), IsEmpty());
  EXPECT_THAT(Of("", 3, 0), ElementsAre(Pair(3, 0)));
  EXPECT_THAT(Of("a", -1, -1), ElementsAre(Pair(-1, -1)));
}

Places Parse(const std::string& text) {
  RunConfig config;
  Places places("f");
  EXPECT_TRUE(ParseTextProto(text, "f", &config, &places).ok());
  return places;
}

TEST(PlacesTest, FieldsHaveLineAndColumn) {
  const Places places = Parse(
      "version: 1\n"
      "selection {\n"
      "  libraries: \"a\"\n"
      "  libraries: \"b\"\n"
      "}\n"
      "sweep { name: \"n\" }\n");
  EXPECT_EQ(places.Of("version"), "f:1:1");
  EXPECT_EQ(places.Of("selection.libraries[1]"), "f:4:3");
  EXPECT_EQ(places.Of("sweep[0].name"), "f:6:9");
}

TEST(PlacesTest, ValuesOfListsHaveTheirOwnPlace) {
  const Places places = Parse(
      "selection {\n"
      "  libraries: [ \"a\",\n"
      "    \"b\" ]\n"
      "  libraries: \"c\"\n"
      "  libraries: [ \"d\" ]\n"
      "}\n"
      "sweep: [ { name: \"n\" }, { name: \"m\" } ]\n"
      "row_labels: [ \"x\", \"y\" ]");
  EXPECT_EQ(places.Of("selection.libraries"), "f:2:3");
  EXPECT_EQ(places.Of("selection.libraries[0]"), "f:2:16");
  EXPECT_EQ(places.Of("selection.libraries[1]"), "f:3:5");
  EXPECT_EQ(places.Of("selection.libraries[2]"), "f:4:3");
  EXPECT_EQ(places.Of("selection.libraries[3]"), "f:5:16");
  EXPECT_EQ(places.Of("sweep[1]"), "f:7:25");
  EXPECT_EQ(places.Of("sweep[1].name"), "f:7:27");
  EXPECT_EQ(places.Of("row_labels[1]"), "f:8:20");
}

TEST(PlacesTest, WhatIsNotSetIsAtItsMessageOrTheFile) {
  const Places places = Parse("selection {\n}\nversion: 1\n");
  EXPECT_EQ(places.Of("selection.mode"), "f:1:1");
  EXPECT_EQ(places.Of("execution.workers"), "f");
}

TEST(PlacesTest, FlagsTakeThePlaceOfTheField) {
  Places places = Parse("version: 1");
  places.Set("execution.workers", "--workers");
  EXPECT_EQ(places.Error("execution.workers", "2 is wrong").message(),
            "--workers: 2 is wrong");
  EXPECT_EQ(places.Error("version", "2 is wrong").message(),
            "f:1:1: version: 2 is wrong");
}

// A list from a flag has nothing of the file's list any more.
TEST(PlacesTest, AFlagTakesAllThatIsInsideTheField) {
  Places places = Parse("selection { libraries: \"a\" mode: \"m\" }");
  places.Set("selection.libraries", "--libraries");
  EXPECT_EQ(places.Of("selection.libraries[0]"), "--libraries");
  EXPECT_EQ(places.Of("selection.mode"), "f:1:28");
}

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
