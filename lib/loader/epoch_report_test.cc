#include "lib/loader/epoch_report.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "lib/loader/fault_list.h"
#include "lib/loader/stage_report.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

TEST(EpochReportTest, AllFaultsAreCountedAndTheFirstNamed) {
  FaultList faults;
  for (int64_t i = 0; i < 100; ++i) faults.Add({99 - i, i, "name", "reason"});
  EpochReply reply;
  ReportFaults(faults, &reply);
  EXPECT_EQ(reply.errors_total, 100);
  ASSERT_FALSE(reply.errors.empty());
  EXPECT_LE(reply.errors.size(), kMaxNamedErrors);
  EXPECT_EQ(reply.errors[0].item, 99);
  EXPECT_EQ(reply.errors[0].path, "name");
  EXPECT_EQ(reply.errors[0].reason, "reason");
}

TEST(EpochReportTest, StagesKeepTheirTimes) {
  StageReport stage;
  stage.name = "decode";
  stage.busy_s = 1;
  stage.wait_in_s = 2;
  stage.wait_out_s = 3;
  stage.queue_fill = 4;
  EpochReply reply;
  ReportStages({stage}, &reply);
  ASSERT_EQ(reply.stages.size(), 1);
  EXPECT_EQ(reply.stages[0].name, "decode");
  EXPECT_EQ(reply.stages[0].busy_s, 1);
  EXPECT_EQ(reply.stages[0].wait_in_s, 2);
  EXPECT_EQ(reply.stages[0].wait_out_s, 3);
  EXPECT_EQ(reply.stages[0].queue_fill, 4);
}

}  // namespace
}  // namespace feedrate
