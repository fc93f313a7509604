#include "lib/machine/timing_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Check> CheckRecorded(const Root& root) {
  return CheckTiming(root, absl::ZeroDuration(), [](absl::Duration) {});
}

std::vector<std::string> Names(const std::vector<Check>& checks,
                               CheckStatus status) {
  std::vector<std::string> names;
  for (const Check& check : checks) {
    if (check.status == status) names.push_back(check.name);
  }
  return names;
}

TEST(TimingChecksTest, TunedServerIsFine) {
  const std::vector<Check> checks =
      CheckRecorded(RecordedMachine("epyc_server"));
  EXPECT_THAT(Names(checks, CheckStatus::kWarn), IsEmpty());
  EXPECT_THAT(Names(checks, CheckStatus::kUnknown), IsEmpty());
  EXPECT_THAT(Names(checks, CheckStatus::kNote), IsEmpty());
}

TEST(TimingChecksTest, LaptopHasItAll) {
  const std::vector<Check> checks = CheckRecorded(RecordedMachine("laptop"));
  EXPECT_THAT(
      Names(checks, CheckStatus::kWarn),
      ElementsAre("governor", "turbo", "power", "run_queue", "cpu_pressure",
                  "swap", "transparent_huge_pages", "aslr"));
  EXPECT_THAT(Names(checks, CheckStatus::kNote),
              ElementsAre("throttling", "smt"));
}

TEST(TimingChecksTest, CloudMachine) {
  const std::vector<Check> checks =
      CheckRecorded(RecordedMachine("xeon_vm_16"));
  EXPECT_THAT(Names(checks, CheckStatus::kWarn),
              ElementsAre("transparent_huge_pages", "aslr"));
  EXPECT_THAT(Names(checks, CheckStatus::kNote),
              ElementsAre("governor", "turbo", "smt", "virtual_machine"));
}

TEST(TimingChecksTest, ContainerWithAQuota) {
  const std::vector<Check> checks =
      CheckRecorded(RecordedMachine("container_v2"));
  EXPECT_THAT(Names(checks, CheckStatus::kWarn),
              ElementsAre("cpu_quota", "aslr"));
}

TEST(TimingChecksTest, NothingReadableIsUnknownAndNamesARemedy) {
  FakeRoot files;
  const std::vector<Check> checks = CheckRecorded(files.root());
  EXPECT_THAT(Names(checks, CheckStatus::kUnknown),
              ElementsAre("steal", "run_queue", "swap",
                          "transparent_huge_pages", "aslr", "clock_source"));
}

TEST(TimingChecksTest, WhatIsNotOkSaysWhyAndWhatToDo) {
  FakeRoot empty;
  for (const Root& root : {RecordedMachine("laptop"), empty.root()}) {
    for (const Check& check : CheckRecorded(root)) {
      EXPECT_NE(check.observed, "") << check.name;
      EXPECT_EQ(check.why.empty(), check.status == CheckStatus::kOk)
          << check.name;
      EXPECT_EQ(check.remedy.empty(), check.status == CheckStatus::kOk)
          << check.name;
    }
  }
}

TEST(TimingChecksTest, ThisMachine) {
  absl::Duration slept;
  const std::vector<Check> checks =
      CheckTiming(Root(), absl::Milliseconds(100),
                  [&slept](absl::Duration length) { slept += length; });
  EXPECT_EQ(checks.size(), 16);
  EXPECT_EQ(slept, absl::Milliseconds(100));
}

}  // namespace
}  // namespace feedrate
