#include "lib/runner/train/slurm_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

const Variables kStep = {{"SLURM_JOB_ID", "77"},
                         {"SLURM_STEP_ID", "3"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_PROCID", "5"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                         {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"}};

absl::StatusOr<absl::optional<SlurmStep>> StepOf(const Variables& variables,
                                                 bool resolves = true) {
  return SlurmStepOf(
      [&variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      [resolves](const std::string&) { return resolves; });
}

Variables With(Variables variables, const std::string& name,
               const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(SlurmStepTest, NothingOutsideOfSrun) {
  EXPECT_FALSE(StepOf({})->has_value());
  // As in a batch script.
  EXPECT_FALSE(
      StepOf({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}})->has_value());
  EXPECT_FALSE(StepOf(With(kStep, "SLURM_STEP_NUM_TASKS", "1"))->has_value());
}

TEST(SlurmStepTest, ReadsThePlaceFromSlurmsVariables) {
  const auto step = StepOf(kStep);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ((*step)->rank, 5);
  EXPECT_EQ((*step)->world_size, 8);
  EXPECT_EQ((*step)->local_rank, 1);
  EXPECT_EQ((*step)->leader, "gpu07");
  EXPECT_EQ((*step)->token, "77.3");
  EXPECT_GE((*step)->port, 10000);
  EXPECT_LT((*step)->port, 32768);
}

TEST(SlurmStepTest, StepsOfOneJobHavePortsOfTheirOwn) {
  EXPECT_NE((*StepOf(kStep))->port,
            (*StepOf(With(kStep, "SLURM_STEP_ID", "4")))->port);
}

TEST(SlurmStepTest, LeaderWithoutAnAddressIsTheNodeOfSrun) {
  EXPECT_EQ((*StepOf(kStep, false))->leader, "10.0.0.9");
  Variables none = kStep;
  none.erase("SLURM_LAUNCH_NODE_IPADDR");
  EXPECT_THAT(std::string(StepOf(none, false).status().message()),
              HasSubstr("MASTER_ADDR"));
}

TEST(SlurmStepTest, MasterAddressAndPortDecide) {
  const auto step =
      StepOf(With(With(kStep, "MASTER_ADDR", "h"), "MASTER_PORT", "29500"));
  EXPECT_EQ((*step)->leader, "h");
  EXPECT_EQ((*step)->port, 29500);
}

TEST(SlurmStepTest, NonsenseIsNamed) {
  for (const char* name :
       {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"}) {
    for (const char* value : {"", "x", "-1", "99999999"}) {
      const auto step = StepOf(With(kStep, name, value));
      EXPECT_TRUE(absl::IsInvalidArgument(step.status())) << name << value;
      EXPECT_THAT(std::string(step.status().message()), HasSubstr(name));
    }
  }
  EXPECT_FALSE(StepOf(With(kStep, "MASTER_PORT", "70000")).ok());
}

TEST(FirstHostTest, ReadsHostLists) {
  EXPECT_EQ(FirstHost("n1"), "n1");
  EXPECT_EQ(FirstHost("n1,n2"), "n1");
  EXPECT_EQ(FirstHost("gpu[07-12,20],cpu1"), "gpu07");
  EXPECT_EQ(FirstHost("gpu[7,9]"), "gpu7");
  EXPECT_EQ(FirstHost("gpu[5]"), "gpu5");
  EXPECT_EQ(FirstHost("rack[1-2]-gpu,x"), "rack1-gpu");
  EXPECT_EQ(FirstHost("rack[1-2]-gpu"), "rack1-gpu");
  EXPECT_EQ(FirstHost("gpu[7"), "");
  EXPECT_EQ(FirstHost("gpu[7-"), "");
  EXPECT_EQ(FirstHost(""), "");
}

}  // namespace
}  // namespace feedrate
