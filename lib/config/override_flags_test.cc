#include "lib/config/override_flags.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using FieldType = google::protobuf::FieldDescriptor;

class OverrideFlagsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { FileFlags::Register({kOverrideFlagsFile}); }

 private:
  gflags::FlagSaver saver_;
};

TEST_F(OverrideFlagsTest, NothingGivenIsNothingSet) {
  for (const OverrideFlag& flag : OverrideFlags()) {
    EXPECT_FALSE(OverridesFromFlags().Has(flag.name)) << flag.name;
  }
}

// Zero is the default of most flags, but giving it on the command line counts.
TEST_F(OverrideFlagsTest, AZeroThatIsGivenCounts) {
  ASSERT_TRUE(ParseFlags({"--workers=0", "--num-items=5"}).ok());
  const Overrides set = OverridesFromFlags();
  EXPECT_EQ(set.ValueOr("num_items", ""), "5");
  EXPECT_EQ(set.ValueOr("workers", ""), "0");
  EXPECT_FALSE(set.Has("batch_size"));
}

TEST_F(OverrideFlagsTest, ListsSplitAtCommas) {
  ASSERT_TRUE(ParseFlags({"--libraries=kornia, pillow,"}).ok());
  EXPECT_THAT(OverridesFromFlags().ListOf("libraries"),
              ElementsAre("kornia", "pillow"));
}

TEST_F(OverrideFlagsTest, SubjectsAddUp) {
  ASSERT_TRUE(ParseFlags({"--subject=a:b,c:d", "--subject=e:f"}).ok());
  EXPECT_THAT(OverridesFromFlags().ListOf("subject"),
              ElementsAre("a:b", "c:d", "e:f"));
}

TEST_F(OverrideFlagsTest, HelpCallsThemShared) {
  ToolInfo info;
  info.flag_files = {kOverrideFlagsFile};
  const std::vector<ShownFlag> flags = FlagsOf(info, false);
  EXPECT_THAT(flags, Contains(Field(&ShownFlag::name, "batch_size")));
  for (const ShownFlag& flag : flags) EXPECT_TRUE(flag.shared) << flag.name;
}

FieldType::CppType FieldTypeOf(FlagType type) {
  switch (type) {
    case FlagType::kInt32:
      return FieldType::CPPTYPE_INT32;
    case FlagType::kInt64:
      return FieldType::CPPTYPE_INT64;
    case FlagType::kDouble:
      return FieldType::CPPTYPE_DOUBLE;
    default:
      return FieldType::CPPTYPE_STRING;
  }
}

TEST(OverridesTest, EveryFlagIsOfTheTypeOfItsField) {
  for (const OverrideFlag& flag : OverrideFlags()) {
    const google::protobuf::Descriptor* message = RunConfig::descriptor();
    const FieldType* field = nullptr;
    for (const std::string& name :
         std::vector<std::string>(absl::StrSplit(flag.path, '.'))) {
      ASSERT_NE(message, nullptr) << flag.path;
      field = message->FindFieldByName(name);
      ASSERT_NE(field, nullptr) << flag.path;
      message = field->message_type();
    }
    EXPECT_EQ(
        field->is_repeated() ? FieldType::CPPTYPE_STRING : field->cpp_type(),
        FieldTypeOf(flag.type))
        << flag.name;
  }
}

TEST(OverridesTest, EveryAxisSetsItsField) {
  RunConfig config;
  for (const OverrideFlag& flag : OverrideFlags()) {
    if (FindSweptFlag(flag.name) == nullptr) continue;
    EXPECT_TRUE(SetConfigField(flag, "7", &config).ok()) << flag.name;
  }
  EXPECT_EQ(config.execution().workers(), 7);
  EXPECT_EQ(config.data().num_items(), 7);
  EXPECT_EQ(config.execution().device(), "7");
  EXPECT_EQ(config.selection().params_profile(), "7");
  EXPECT_EQ(FindSweptFlag("prefetch"), nullptr);
  EXPECT_EQ(FindSweptFlag("num_runs"), nullptr);
}

TEST(OverridesTest, NumbersMustBeWholeAndFit) {
  RunConfig config;
  const OverrideFlag& workers = *FindSweptFlag("workers");
  for (const char* value : {"", "-", "x", "1.5", "1e3", "0x10"}) {
    EXPECT_EQ(std::string(SetConfigField(workers, value, &config).message()),
              std::string("\"") + value + "\" is not a whole number");
  }
  EXPECT_EQ(
      std::string(SetConfigField(workers, "99999999999", &config).message()),
      "\"99999999999\" is out of range");
  EXPECT_FALSE(config.execution().has_workers());
  const OverrideFlag& seed = *FindSweptFlag("seed");
  EXPECT_TRUE(SetConfigField(seed, "-99999999999", &config).ok());
  EXPECT_EQ(config.execution().seed(), -99999999999);
}

}  // namespace
}  // namespace feedrate
