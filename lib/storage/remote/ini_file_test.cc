#include "lib/storage/remote/ini_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(IniFileTest, ReadsSections) {
  const IniFile file = ParseIni(
      "# comment\n[default]\nAWS_Access_Key_ID = a=b\n region=eu-west-1  ; "
      "why\n"
      "\n[profile x y]\nendpoint_url = http://h:1/#not-a-comment\r\n");
  EXPECT_THAT(
      file,
      ElementsAre(
          Pair("default", ElementsAre(Pair("aws_access_key_id", "a=b"),
                                      Pair("region", "eu-west-1"))),
          Pair("profile x y", ElementsAre(Pair("endpoint_url",
                                               "http://h:1/#not-a-comment")))));
}

TEST(IniFileTest, ReadsIndentedSettings) {
  const IniFile file =
      ParseIni("[default]\ns3 =\n  addressing_style = path\nregion = r\n");
  EXPECT_THAT(file.at("default"),
              ElementsAre(Pair("region", "r"), Pair("s3", ""),
                          Pair("s3.addressing_style", "path")));
}

TEST(IniFileTest, PassesOverNonsense) {
  EXPECT_THAT(ParseIni(""), IsEmpty());
  EXPECT_THAT(ParseIni("key = before any section\n[\n]\n=\n"), IsEmpty());
}

}  // namespace
}  // namespace feedrate
