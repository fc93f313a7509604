#include "lib/planning/axis.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {
namespace {

TEST(AxisTest, EveryAxisSetsItsField) {
  RunConfig config;
  for (const std::string& axis : FieldAxes()) {
    EXPECT_NE(FieldOfAxis(axis), "") << axis;
    EXPECT_TRUE(SetAxis(axis, "7", &config).ok()) << axis;
  }
  EXPECT_EQ(config.execution().workers(), 7);
  EXPECT_EQ(config.execution().batch_size(), 7);
  EXPECT_EQ(config.data().num_items(), 7);
  EXPECT_EQ(config.execution().seed(), 7);
  EXPECT_EQ(config.execution().device(), "7");
  EXPECT_EQ(config.execution().scope(), "7");
  EXPECT_EQ(config.execution().thread_policy(), "7");
  EXPECT_EQ(config.selection().params_profile(), "7");
}

TEST(AxisTest, OtherNamesHaveNoField) {
  EXPECT_EQ(FieldOfAxis("workers"), "execution.workers");
  EXPECT_EQ(FieldOfAxis("prefetch"), "");
  EXPECT_EQ(FieldOfAxis(""), "");
}

TEST(AxisTest, NumbersMustBeWholeAndFit) {
  RunConfig config;
  for (const char* value : {"", "-", "x", "1.5", "1e3", "0x10"}) {
    EXPECT_EQ(std::string(SetAxis("workers", value, &config).message()),
              std::string("\"") + value + "\" is not a whole number");
  }
  EXPECT_EQ(std::string(SetAxis("workers", "99999999999", &config).message()),
            "\"99999999999\" is out of range");
  EXPECT_FALSE(config.execution().has_workers());
  EXPECT_TRUE(SetAxis("seed", "-99999999999", &config).ok());
  EXPECT_EQ(config.execution().seed(), -99999999999);
}

}  // namespace
}  // namespace feedrate
