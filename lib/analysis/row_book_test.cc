#include "lib/analysis/row_book.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/synthetic_rows.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Job MakeJob() {
  Job job;
  job.set_scenario("video-16f");
  job.set_mode("micro");
  job.set_library("albumentationsx");
  job.set_transform("Blur");
  job.set_device("cpu");
  job.set_num_items(10);
  job.set_hardware_class("cpu");
  job.add_run_indexes(0);
  job.set_job_id(JobId(job));
  return job;
}

class RowBookTest : public ::testing::Test {
 protected:
  RowBookTest() : job_(MakeJob()) {
    jobs_.Add(job_);
    SyntheticOptions options;
    options.early_stopped = 0;
    row_ = SyntheticRows(options).MakeRow(job_, 0);
  }

  Job job_;
  PlannedJobs jobs_;
  Row row_;
};

TEST_F(RowBookTest, KeepsTheLastAttemptInAnyOrder) {
  for (const bool forwards : {true, false}) {
    RowBook book(jobs_, "");
    Row first = row_;
    first.set_status("oom");
    Row second = row_;
    second.set_attempt(1);
    book.AddRow(forwards ? first : second, 0, "f", 1);
    book.AddRow(forwards ? second : first, 0, "f", 2);
    ASSERT_EQ(book.runs(0).size(), 1);
    EXPECT_EQ(book.Text(book.runs(0)[0].status), "ok");
    EXPECT_EQ(book.Place(book.runs(0)[0]), forwards ? "f:2" : "f:1");
    EXPECT_EQ(book.replaced_rows(), 1);
    EXPECT_EQ(book.FindTies(0, book.runs(0)[0]), nullptr);
  }
}

TEST_F(RowBookTest, RowsOfOneAttemptAreTied) {
  RowBook book(jobs_, "");
  book.AddRow(row_, 0, "f", 1);
  book.AddRow(row_, 0, "g", 1);
  const Ties* ties = book.FindTies(0, book.runs(0)[0]);
  ASSERT_NE(ties, nullptr);
  EXPECT_EQ(ties->rows, 2);
  EXPECT_FALSE(ties->numbers_differ);
  row_.set_throughput(row_.throughput() + 1);
  book.AddRow(row_, 0, "g", 2);
  EXPECT_TRUE(ties->numbers_differ);
  // A later attempt makes all of them history.
  row_.set_attempt(1);
  book.AddRow(row_, 0, "g", 3);
  EXPECT_EQ(book.FindTies(0, book.runs(0)[0]), nullptr);
  EXPECT_EQ(book.replaced_rows(), 3);
}

TEST_F(RowBookTest, TheHostsCpuStandsBesideACpuMachine) {
  RowBook book(jobs_, "");
  book.AddRow(row_, 0, "f", 1);
  row_.set_hardware_class("host_cpu");
  book.AddRow(row_, 0, "f", 2);
  EXPECT_EQ(book.runs(0).size(), 2);
}

TEST_F(RowBookTest, OtherMachinesAreLeftOutWhenOneIsAskedFor) {
  RowBook book(jobs_, "another");
  book.AddRow(row_, 0, "f", 1);
  EXPECT_EQ(book.rows(), 0);
}

TEST_F(RowBookTest, RowsOfNoJobAreCountedAndTheirSettingsNoted) {
  RowBook book(jobs_, "");
  row_.set_job_id("0123456789abcdef");
  row_.set_batch_size(4);
  book.AddRow(row_, 0, "f", 1);
  row_.add_labels("exploratory");
  book.AddRow(row_, 0, "f", 2);
  EXPECT_EQ(book.unplanned_rows(), 2);
  ASSERT_EQ(book.strays().size(), 1);
  const auto& [what, stray] = *book.strays().begin();
  EXPECT_EQ(what.second, "batch_size is 4, planned is 0");
  EXPECT_TRUE(stray.other_batch);
  EXPECT_EQ(stray.rows, 1);
  EXPECT_EQ(stray.place, "f:1");
}

TEST_F(RowBookTest, RunsAndMachinesMayComeAfterTheirRows) {
  RowBook book(jobs_, "");
  book.AddRow(row_, 0, "f", 1);
  EXPECT_EQ(book.CopyBytesPerS(book.runs(0)[0]), 0);
  EXPECT_EQ(book.Machine(book.runs(0)[0]), nullptr);
  const SyntheticRows maker({});
  for (const auto& run : maker.Runs()) book.AddRun(run);
  for (const Env& env : maker.Envs()) book.AddEnv(env);
  EXPECT_GT(book.CopyBytesPerS(book.runs(0)[0]), 1e9);
  ASSERT_NE(book.Machine(book.runs(0)[0]), nullptr);
  EXPECT_FALSE(book.Machine(book.runs(0)[0])->has_gpu);
}

}  // namespace
}  // namespace feedrate
