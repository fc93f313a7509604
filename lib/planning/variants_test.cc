#include "lib/planning/variants.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunConfig Parse(const std::string& text) {
  RunConfig config;
  EXPECT_TRUE(ParseTextProto(text + " data { sample_ratio: 1 } execution { "
                                    "min_batches: 1 workers: 5 }",
                             "f", &config)
                  .ok());
  return config;
}

TEST(VariantsTest, NoSweepIsOnePoint) {
  const RunConfig config = Parse("selection { libraries: \"a\" }");
  Variants variants(config);
  Variant variant;
  ASSERT_TRUE(variants.Next(&variant));
  EXPECT_EQ(variant.config.execution().workers(), 5);
  EXPECT_THAT(variant.config.selection().libraries(), IsEmpty());
  EXPECT_THAT(variant.settings, IsEmpty());
  EXPECT_FALSE(variants.Next(&variant));
}

TEST(VariantsTest, TheLastAxisIsTheFastest) {
  const RunConfig config = Parse(
      "sweep { name: \"workers\" values: [\"0\", \"2\"] } "
      "sweep { name: \"prefetch\" values: [\"1\", \"4\"] }");
  Variants variants(config);
  Variant variant;
  std::vector<std::string> seen;
  while (variants.Next(&variant)) {
    seen.push_back(std::to_string(variant.config.execution().workers()) + "/" +
                   variant.settings.at("prefetch"));
  }
  EXPECT_THAT(seen, ElementsAre("0/1", "0/4", "2/1", "2/4"));
}

TEST(VariantsTest, WhatIsNotAtItsDefaultIsASetting) {
  RunConfig config = Parse("");
  config.mutable_data()->set_sample_ratio(0.1);
  config.mutable_execution()->set_min_time(2.5);
  config.mutable_execution()->set_min_batches(20);
  Variants variants(config);
  Variant variant;
  ASSERT_TRUE(variants.Next(&variant));
  EXPECT_EQ(variant.settings.at("sample_ratio"), "0.1");
  EXPECT_EQ(variant.settings.at("min_time"), "2.5");
  EXPECT_EQ(variant.settings.at("min_batches"), "20");
}

}  // namespace
}  // namespace feedrate
