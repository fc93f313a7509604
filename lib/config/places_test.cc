#include "lib/config/places.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

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

}  // namespace
}  // namespace feedrate
