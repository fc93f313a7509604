#include "lib/analysis/runs_needed.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunsNeededTest : public ::testing::Test {
 protected:
  RunsNeededTest() : jobs_(*JobsOfGroups::Create(by_, "")) {}

  void Add(const std::string& library, const std::vector<double>& throughputs) {
    Row row;
    row.set_scenario("image-rgb");
    row.set_mode("micro");
    row.set_library(library);
    row.set_transform("Blur");
    row.set_device("cpu");
    row.set_params_sha256("ab");
    row.set_status("ok");
    row.set_duration_s(2);
    Job job;
    job.set_scenario("image-rgb");
    job.set_mode("micro");
    job.set_library(library);
    job.set_transform("Blur");
    job.set_device("cpu");
    job.set_params_sha256("ab");
    row.set_job_id(JobId(job));
    for (const double throughput : throughputs) {
      row.set_throughput(throughput);
      rows_.push_back(row);
      jobs_.Add(row);
      row.set_run_index(row.run_index() + 1);
    }
  }

  std::vector<CloseCall> Calls() {
    AggregateOptions options;
    options.by = by_;
    auto aggregator = RowAggregator::Create(options);
    for (const Row& row : rows_) EXPECT_TRUE((*aggregator)->Add(row).ok());
    result_ = *(*aggregator)->Finish();
    return CloseCalls(result_.aggregates);
  }

  const std::vector<std::string> by_ = {"library", "transform"};
  JobsOfGroups jobs_;
  std::vector<Row> rows_;
  AggregateResult result_;
};

TEST_F(RunsNeededTest, OneRunEachFarApartIsNoCloseCall) {
  Add("a", {100});
  Add("b", {300});
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(RunsNeededTest, OneRunBesideASteadyRivalMayBeEnough) {
  // Half the width of an interval of three runs at 15% is a factor of 1.45.
  Add("a", {100, 100.1, 100.2});
  Add("b", {150});
  EXPECT_THAT(Calls(), IsEmpty());
  Add("c", {140});
  const std::vector<CloseCall> calls = Calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].runs, 3);
  EXPECT_EQ(calls[1].slower->by().at("library"), "a");
}

TEST_F(RunsNeededTest, OneRunAsksForThree) {
  Add("a", {100});
  Add("b", {200});
  const std::vector<CloseCall> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].faster->by().at("library"), "b");
  EXPECT_EQ(calls[0].runs, 3);
  const std::vector<Job> jobs = jobs_.Missing(calls);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].library(), "b");
  EXPECT_THAT(jobs[0].run_indexes(), ElementsAre(1, 2));
  EXPECT_EQ(jobs[0].cost_s(), 4);
  // The same work, so that plan and runners know it again.
  EXPECT_EQ(jobs[0].job_id(), JobId(jobs[0]));
  EXPECT_EQ(jobs[0].output(), "image-rgb/micro/b_micro_results.jsonl");
}

TEST_F(RunsNeededTest, ClearCallsNeedNone) {
  Add("a", {100, 101, 102});
  Add("b", {200, 201, 202});
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(RunsNeededTest, CloserCallsNeedMore) {
  // About 5% deviation and 20% apart: the t value falls quickly with runs.
  Add("a", {95, 100, 105});
  Add("b", {114, 120, 126});
  std::vector<CloseCall> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].runs, 5);
  EXPECT_THAT(jobs_.Missing(calls)[0].run_indexes(), ElementsAre(3, 4));
  // 4% apart.
  Add("c", {119, 125, 131});
  calls = Calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].faster->by().at("library"), "c");
  EXPECT_EQ(calls[0].runs, 0);
  // b is in both calls and written once.
  EXPECT_EQ(jobs_.Missing(calls).size(), 2u);
}

}  // namespace
}  // namespace feedrate
