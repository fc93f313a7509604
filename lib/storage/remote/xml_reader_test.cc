#include "lib/storage/remote/xml_reader.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> Elements(
    absl::string_view document) {
  std::vector<std::pair<std::string, std::string>> seen;
  const absl::Status status =
      ReadXml(document, [&](absl::string_view path, const std::string& text) {
        seen.emplace_back(std::string(path), text);
      });
  EXPECT_TRUE(status.ok()) << status << " in " << document;
  return seen;
}

bool IsXml(absl::string_view document) {
  return ReadXml(document, [](absl::string_view, const std::string&) {}).ok();
}

TEST(XmlReaderTest, GivesElementsFromTheInsideOut) {
  EXPECT_THAT(Elements("<?xml version=\"1.0\"?>\n<!-- a > b -->"
                       "<a xmlns=\"x>y\"><b c='1'>one</b><e/><b>two</b></a>\n"),
              ElementsAre(Pair("a/b", "one"), Pair("a/e", ""),
                          Pair("a/b", "two"), Pair("a", "")));
  EXPECT_THAT(Elements("<n:a><n:b>x</n:b></n:a>"),
              ElementsAre(Pair("a/b", "x"), Pair("a", "")));
}

TEST(XmlReaderTest, ResolvesEntities) {
  EXPECT_THAT(Elements("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#xe9;&#x5199;"
                       "&#128512;<![CDATA[<raw>&amp;]]></a>"),
              ElementsAre(Pair("a", "<&>\"'ABé写😀<raw>&amp;")));
}

TEST(XmlReaderTest, RefusesWhatIsNoXml) {
  for (const char* bad :
       {"", "text", "<a>", "<a></b>", "</a>", "<a", "<a b='></a>", "<>",
        "<a/>x&", "<a>&unknown;</a>", "<a>&#0;</a>", "<a>&#xd800;</a>",
        "<a>&amp</a>", "<a/><b/>", "<!DOCTYPE x><a/>", "<a><!-- </a>",
        "<a><![CDATA[</a>", "<a></a/>"}) {
    EXPECT_FALSE(IsXml(bad)) << bad;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_FALSE(IsXml(deep));
}

}  // namespace
}  // namespace feedrate
