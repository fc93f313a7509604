#include "lib/config/check_text.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/config/places.h"
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
            "f: sweep[0].values[1]: is no text; write UTF-8, without NUL");
  config.mutable_data()->set_dataset(std::string("a\0b", 3));
  EXPECT_EQ(ErrorOf(config),
            "f: data.dataset: is no text; write UTF-8, without NUL");
}

TEST(CheckTextTest, OnlyOtherBytesAndEscapesNeedIt) {
  EXPECT_FALSE(NeedsCheckText("label: \"a\"\n"));
  EXPECT_TRUE(NeedsCheckText("label: \"\\377\""));
  EXPECT_TRUE(NeedsCheckText("label: \"\xff\""));
  EXPECT_TRUE(NeedsCheckText(absl::string_view("\0", 1)));
}

}  // namespace
}  // namespace feedrate
