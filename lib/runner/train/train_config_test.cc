#include "lib/runner/train/train_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "lib/catalogue/catalogue.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/runner/train/train_settings.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr char kDemo[] = "configs/demo_train.textproto";

TEST(TrainConfigTest, TheDemoIsTwoTrainings) {
  const TrainPlan plan = *PlanTrainJobs(kDemo, Overrides(), {}, "configs");
  ASSERT_EQ(plan.jobs.size(), 2);
  EXPECT_EQ(plan.jobs[0].settings().at("precision"), "fp32");
  EXPECT_EQ(TrainSettingsOf(plan.jobs[1])->precision, "bf16");
  EXPECT_EQ(TrainSettingsOf(plan.jobs[1])->warmup, 20);
  EXPECT_EQ(plan.config.label(), "demo_train");
}

// The same work has the same id, whoever asks for it.
TEST(TrainConfigTest, FlagsAndConfigMakeTheSameJob) {
  TrainRequest request;
  request.libraries = {kTrainLibrary};
  request.settings = {{"model", "vit5_tiny"},
                      {"precision", "fp32"},
                      {"warmup", "20"},
                      {"steps", "50"}};
  const TrainPlan plan = *PlanTrainJobs(kDemo, Overrides(), {}, "configs");
  EXPECT_EQ((*MakeTrainJobs(request))[0].job_id(), plan.jobs[0].job_id());
}

TEST(TrainConfigTest, OverridesAndSettingsWin) {
  Overrides overrides;
  overrides.batch_size = 8;
  overrides.num_runs = 3;
  overrides.sample_ratio = 0.5;
  const TrainPlan plan =
      *PlanTrainJobs(kDemo, overrides, {{"model", "byte_lm_tiny"}}, "configs");
  EXPECT_EQ(plan.jobs[0].batch_size(), 8);
  EXPECT_EQ(plan.jobs[0].run_indexes_size(), 3);
  EXPECT_EQ(TrainSettingsOf(plan.jobs[0])->model.name, "byte_lm_tiny");
  EXPECT_EQ(plan.jobs[0].settings().at("sample_ratio"), "0.5");
}

TEST(TrainConfigTest, MistakesHaveTheirPlace) {
  Overrides overrides;
  overrides.scope = "end_to_end";
  const auto plan = PlanTrainJobs(kDemo, overrides, {}, "configs");
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("--scope"));
  const auto other =
      PlanTrainJobs("configs/demo.textproto", Overrides(), {}, "configs");
  EXPECT_THAT(std::string(other.status().message()),
              HasSubstr("run it with micro"));
}

// What `plan` lets a sweep name is what `train` reads.
TEST(TrainConfigTest, ThePolicyKnowsEverySetting) {
  const Catalogue catalogue = *Catalogue::Load("configs");
  const ModePolicy* const mode = catalogue.FindMode("train", "image");
  ASSERT_NE(mode, nullptr);
  EXPECT_THAT(std::vector<std::string>(mode->settings().begin(),
                                       mode->settings().end()),
              UnorderedElementsAreArray(TrainSettingNames()));
}

}  // namespace
}  // namespace feedrate
