#include "lib/config/text_proto.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {
namespace {

std::string ErrorOf(const RunConfig& config) {
  return std::string(CheckText(config, Places("f")).message());
}

TEST(CheckTextTest, TextIsFine) {
  RunConfig config;
  config.set_label("größe…");
  config.add_sweep()->add_values("");
  config.mutable_execution()->set_seed(1);
  EXPECT_EQ(ErrorOf(config), "");
}

TEST(CheckTextTest, WhatIsNoneIsNamedWhereverItIs) {
  RunConfig config;
  config.add_sweep()->add_values("a");
  config.mutable_sweep(0)->add_values("\xff");
  EXPECT_EQ(ErrorOf(config),
            "f: sweep[0].values[1]: is not text; write UTF-8, without NUL");
  config.mutable_data()->set_dataset(std::string("a\0b", 3));
  EXPECT_EQ(ErrorOf(config),
            "f: data.dataset: is not text; write UTF-8, without NUL");
}

TEST(CheckTextTest, OnlyOtherBytesAndEscapesNeedIt) {
  EXPECT_FALSE(NeedsCheckText("label: \"a\"\n"));
  EXPECT_TRUE(NeedsCheckText("label: \"\\377\""));
  EXPECT_TRUE(NeedsCheckText("label: \"\xff\""));
  EXPECT_TRUE(NeedsCheckText(absl::string_view("\0", 1)));
}

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  RunConfig config;
  return std::string(ParseTextProto(text, "f", &config).message());
}

TEST(TextProtoTest, ReadsWhatItPrints) {
  RunConfig config;
  ASSERT_TRUE(ParseTextProto("version: 1 label: \"größe\" # why\n"
                             "selection { libraries: [\"a\", \"b\"] }",
                             "f", &config)
                  .ok());
  RunConfig again;
  const std::string printed = PrintTextProto(config);
  EXPECT_THAT(printed, HasSubstr("label: \"größe\"\n"));
  ASSERT_TRUE(ParseTextProto(printed, "f", &again).ok());
  EXPECT_EQ(PrintTextProto(again), printed);
}

TEST(TextProtoTest, UnknownFieldHasPlaceAndSuggestion) {
  EXPECT_EQ(ErrorOf("version: 1\nselection {\n  scenarioo: \"x\"\n}"),
            "f:3:3: unknown field \"scenarioo\"; did you mean \"scenario\"?");
}

TEST(TextProtoTest, OtherErrorsHaveThePlace) {
  EXPECT_THAT(ErrorOf("version: \"one\""), HasSubstr("f:1:10: "));
  EXPECT_THAT(ErrorOf("version: 99999999999"), HasSubstr("f:1:10: "));
  EXPECT_THAT(ErrorOf("selection {"), HasSubstr("f:1:12: "));
  EXPECT_THAT(ErrorOf("version: 1 version: 1"), HasSubstr("f:1:"));
  EXPECT_THAT(ErrorOf("label: \"no end"), HasSubstr("f:1:"));
}

// Raw or escaped: it could not go into a record as it is.
TEST(TextProtoTest, StringsMustBeText) {
  for (const char* bad : {"\xff", "\\377", "\\xff", "\\000", "\xC3"}) {
    EXPECT_EQ(ErrorOf(std::string("version: 1\n  label: \"a") + bad + "\""),
              "f:2:3: label: is not text; write UTF-8, without NUL");
  }
  EXPECT_EQ(ErrorOf("label: \"\xC3\xA4 \\303\\244 \\n\" # \xff"), "");
}

TEST(TextProtoTest, ByteOrderMarkIsSaid) {
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBFversion: 1"),
            "f:1:1: a character beyond ASCII outside of quotes");
}

// Protobuf notices them at the next word, here a line later.
TEST(TextProtoTest, PlaceIsWhereTheWordIs) {
  EXPECT_EQ(ErrorOf("execution {\n  disable_slow_skip: yes\n}"),
            "f:2:22: \"yes\" is not a value of disable_slow_skip; use true or "
            "false");
  EXPECT_EQ(ErrorOf("version: 1\n\n version\n: 1"),
            "f:3:2: \"version\" is there twice; keep one");
  EXPECT_EQ(ErrorOf("x: 1 version: 1"),
            "f:1:1: unknown field \"x\"; use one of version, selection, data, "
            "execution, output, cloud, sweep, label, note, row_labels, "
            "mixture, set");
}

TEST(TextProtoTest, BracesAreCountedInWords) {
  EXPECT_EQ(ErrorOf("selection {\n  mode: \"x\"\n"),
            "f:3:1: the file ends where a } is missing");
  EXPECT_EQ(ErrorOf("version: 1\n}"),
            "f:2:1: expected the name of a field, found }");
}

TEST(TextProtoTest, UnknownEnumValueSuggests) {
  Matrix matrix;
  const absl::Status status =
      ParseTextProto("combinations { status: SUPORTED }", "f", &matrix);
  EXPECT_EQ(std::string(status.message()),
            "f:1:24: \"SUPORTED\" is not a value of status; "
            "did you mean \"SUPPORTED\"?");
}

TEST(TextProtoTest, MissingFileIsNotFound) {
  RunConfig config;
  EXPECT_EQ(ReadTextProto("no/such/file", &config).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
