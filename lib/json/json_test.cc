#include "lib/json/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace feedrate {
namespace {

std::string WhyNot(std::string_view text) {
  std::string why;
  EXPECT_EQ(ParseJson(text, &why).has_value(), why.empty());
  return why;
}

TEST(JsonTest, ReadsMembers) {
  std::string why;
  const auto json =
      ParseJson(R"({"a": "b", "n": 5, "o": {"n": 6}, "x": 1.0, "z": -1,
                    "big": 18446744073709551615})",
                &why);
  ASSERT_TRUE(json.has_value()) << why;
  EXPECT_EQ(TextOf(*json, "a"), "b");
  EXPECT_EQ(CountOf(*json, "n"), 5);
  EXPECT_EQ(CountOf(*MemberOf(*json, "o"), "n"), 6);
  // Another type is as good as none.
  EXPECT_EQ(TextOf(*json, "n"), "");
  EXPECT_EQ(TextOf(*json, "missing"), "");
  for (const char* key : {"a", "x", "z", "big", "o", "missing"}) {
    EXPECT_EQ(CountOf(*json, key), std::nullopt) << key;
  }
  EXPECT_EQ(MemberOf(Json(5), "a"), nullptr);
}

TEST(JsonTest, RefusesWhatIsSaidTwice) {
  EXPECT_EQ(WhyNot(R"({"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}]})"),
            "");
  EXPECT_EQ(WhyNot(R"({"a": 1, "a": 1})"), "it says \"a\" twice");
  EXPECT_EQ(WhyNot(R"([{"b": {"a": 1, "\u0061": 1}}])"), "it says \"a\" twice");
  EXPECT_EQ(WhyNot(R"({"a": {"x": 1}, "b": 1, "a": {}})"),
            "it says \"a\" twice");
}

TEST(JsonTest, ShowsKeysWithoutControlCharacters) {
  EXPECT_EQ(WhyNot(R"({"\u001b[1m\u00e9": 1, "\u001b[1m\u00e9": 2})"),
            R"(it says "\u001b[1m\u00e9" twice)");
  const std::string key = "\"" + std::string(1000, 'k') + "\":1";
  EXPECT_LT(WhyNot("{" + key + "," + key + "}").size(), 70u);
}

TEST(JsonTest, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "{\"a\": 1} x", "{'a': 1}", "NaN", "1e999",
                           "\"\xff\"", "{\"a\" 1}", "[1,]", "// no\n1"}) {
    EXPECT_EQ(WhyNot(text), "it is not JSON") << text;
  }
}

// Would not end if each object took as long as there are objects beside it.
TEST(JsonTest, TakesTimeInProportion) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) {
    text += "\"" + std::to_string(i) + "\":{},";
  }
  EXPECT_EQ(WhyNot(text + "\"end\":{}}"), "");
}

TEST(JsonTest, IsNotDeep) {
  EXPECT_EQ(WhyNot(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(WhyNot(std::string(65, '[') + std::string(65, ']')),
            "it has more than 64 levels");
  EXPECT_EQ(WhyNot(std::string(1 << 20, '[')), "it has more than 64 levels");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(WhyNot(objects), "it has more than 64 levels");
}

TEST(PrintJsonTest, KeepsTheOrderAndAlwaysParses) {
  OrderedJson json = {{"b", 0.1 + 0.2}, {"a", "\xff\""}};
  json["none"] = std::nan("");
  EXPECT_EQ(PrintJson(json),
            "{\n  \"b\": 0.30000000000000004,\n"
            "  \"a\": \"\xEF\xBF\xBD\\\"\",\n  \"none\": null\n}\n");
}

}  // namespace
}  // namespace feedrate
