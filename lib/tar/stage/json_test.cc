#include "lib/tar/stage/json.h"

#include <gtest/gtest.h>

namespace feedrate::tar {
namespace {

TEST(JsonObject, KeepsTheOrder) {
  EXPECT_EQ(JsonObject()
                .Add("b", uint64_t{1})
                .Add("a", "x")
                .Add("c", true)
                .Add("d", 0.5, 3)
                .AddNull("e")
                .Add("f", JsonObject().Add("g", 0))
                .Finish(),
            R"({"b":1,"a":"x","c":true,"d":0.500,"e":null,"f":{"g":0}})");
}

TEST(JsonString, EscapesWhatJsonMustNotHold) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01"), R"("a\"b\\c\u000a\u0001")");
  EXPECT_EQ(JsonString("caf\xc3\xa9 \xf0\x9f\x98\x80"),
            "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
}

TEST(JsonString, IsValidForAnyBytes) {
  EXPECT_EQ(JsonString("\xff"), R"("\ufffdff")");
  EXPECT_EQ(JsonString("\xc3"), R"("\ufffdc3")");
  EXPECT_EQ(JsonString("\xed\xa0\x80"), R"("\ufffded\ufffda0\ufffd80")");
  EXPECT_EQ(JsonString("\xc0\xaf"), R"("\ufffdc0\ufffdaf")");
}

TEST(FindJson, FindsFieldsButNotTextThatLooksLikeThem) {
  const std::string line =
      JsonObject().Add("source", "\"n\":5,").Add("n", 7).AddNull("z").Finish();
  EXPECT_EQ(FindJson(line, "source"), R"("\"n\":5,")");
  EXPECT_EQ(FindJsonNumber(line, "n"), 7u);
  EXPECT_EQ(FindJson(line, "z"), "null");
  EXPECT_EQ(FindJson(line, "missing"), "");
  EXPECT_EQ(FindJson("{\"cut\":\"sh", "cut"), "");
}

}  // namespace
}  // namespace feedrate::tar
