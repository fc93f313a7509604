#include "lib/records/train_settings.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string Mistake(absl::string_view name, const std::string& value) {
  return std::string(
      CheckTrainSetting(*FindTrainSetting(name), value).message());
}

TEST(TrainSettingsTest, EverySettingIsWhole) {
  std::set<std::string> names;
  for (const TrainSetting& setting : TrainSettingTable()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_EQ(*setting.flag == '\0', *setting.help == '\0') << setting.name;
    EXPECT_EQ(setting.type == SettingType::kChoice,
              !ChoicesOf(setting.help).empty())
        << setting.name;
    EXPECT_LE(setting.least, setting.most) << setting.name;
    // 0 stands for what a training does without the setting.
    const std::string usual = setting.usual;
    if (usual.empty() || usual == "0") continue;
    EXPECT_EQ(Mistake(setting.name, usual), "");
  }
}

TEST(TrainSettingsTest, AWrongValueIsNamedWithItsFlag) {
  const struct {
    const char* name;
    const char* value;
    const char* message;
  } cases[] = {
      {"steps", "0", "--measured_steps: \"0\" is not a whole number from 1 to"},
      {"steps", "1e2", "is not a whole number"},
      {"threads", "1073741825", "from 1 to 1073741824"},
      {"weight_decay", "-1", "is not 0 or above 0 and at most 100"},
      {"weight_decay", "nan", "is not 0 or above 0"},
      {"learning_rate", "0", "--learning_rate: \"0\" is not above 0 and at"},
      {"graphs", "true", "--graphs: \"true\" is unknown; use one of 0, 1"},
      {"engine", "fusd", "did you mean \"fused\"?"},
      {"sample_ratio", "2", "--sample_ratio: \"2\" is not above 0"},
  };
  for (const auto& wrong : cases) {
    EXPECT_THAT(Mistake(wrong.name, wrong.value), HasSubstr(wrong.message));
  }
  EXPECT_EQ(Mistake("weight_decay", "0"), "");
  EXPECT_EQ(Mistake("steps", "1073741824"), "");
  EXPECT_EQ(FindTrainSetting("step"), nullptr);
}

TEST(TrainSettingsTest, AJobHasTheUsualValueOfWhatItDoesNotName) {
  Job job;
  EXPECT_EQ(TrainText(job, "optimizer"), "adamw");
  EXPECT_EQ(TrainNumber(job, "weight_decay"), 0.05);
  (*job.mutable_settings())["weight_decay"] = "0.5";
  EXPECT_EQ(TrainNumber(job, "weight_decay"), 0.5);
}

}  // namespace
}  // namespace feedrate
