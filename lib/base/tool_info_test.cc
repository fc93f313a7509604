#include "lib/base/tool_info.h"

#include <string>
#include <vector>

#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/override_flags.h"

DEFINE_string(what, "jobs", "WHAT: records or a summary {jobs|table}");
DEFINE_string(plain, "", "no placeholder: text after a colon");
DEFINE_bool(quick, false, "leave out the slow part");
DEFINE_double(ratio, 0.5, "a share");
DEFINE_int32(count, 0, "A,B: open brace { and no end");

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

ToolInfo Info(std::vector<std::string> files) {
  ToolInfo info;
  info.name = "tool";
  info.flag_files = std::move(files);
  return info;
}

ShownFlag Find(const std::string& name) {
  for (const ShownFlag& flag : FlagsOf(Info({"tool_info_test.cc"}), false)) {
    if (flag.name == name) return flag;
  }
  ADD_FAILURE() << "no flag " << name;
  return {};
}

TEST(FlagsOfTest, OwnFlagsByNameAndNoOthers) {
  std::vector<std::string> names;
  for (const ShownFlag& flag : FlagsOf(Info({"tool_info_test.cc"}), false)) {
    names.push_back(flag.name);
  }
  EXPECT_THAT(names, ElementsAre("count", "plain", "quick", "ratio", "what"));
  EXPECT_THAT(FlagsOf(Info({}), false), IsEmpty());
}

TEST(FlagsOfTest, AllHasThoseOfLibraries) {
  EXPECT_THAT(FlagsOf(Info({}), true),
              Contains(Field(&ShownFlag::name, "helpfull")));
}

TEST(FlagsOfTest, OverridesAreShared) {
  // A program that takes them calls this, which links the flags.
  ASSERT_FALSE(OverridesFromFlags().batch_size.has_value());
  const std::vector<ShownFlag> flags =
      FlagsOf(Info({"tool_info_test.cc", kOverrideFlagsFile}), false);
  EXPECT_THAT(flags, Contains(Field(&ShownFlag::name, "batch_size")));
  for (const ShownFlag& flag : flags) {
    EXPECT_EQ(flag.shared, flag.name != "what" && flag.name != "plain" &&
                               flag.name != "quick" && flag.name != "ratio" &&
                               flag.name != "count")
        << flag.name;
  }
}

TEST(FlagsOfTest, PlaceholderAndChoicesComeFromTheDescription) {
  const ShownFlag what = Find("what");
  EXPECT_EQ(what.placeholder, "WHAT");
  EXPECT_EQ(what.description, "records or a summary {jobs|table}");
  EXPECT_THAT(what.choices, ElementsAre("jobs", "table"));
  EXPECT_EQ(what.default_value, "jobs");
}

TEST(FlagsOfTest, WithoutOneTheTypeGivesThePlaceholder) {
  EXPECT_EQ(Find("plain").placeholder, "TEXT");
  EXPECT_EQ(Find("plain").description, "no placeholder: text after a colon");
  EXPECT_EQ(Find("quick").placeholder, "");
  EXPECT_EQ(Find("ratio").placeholder, "X");
  EXPECT_EQ(Find("count").placeholder, "A,B");
  EXPECT_THAT(Find("count").choices, IsEmpty());
}

}  // namespace
}  // namespace feedrate
