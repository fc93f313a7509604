#include "lib/runner/core/run_tally.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class RunTallyTest : public testing::Test {
 protected:
  Row MakeRow(const std::string& job, int run_index, double throughput) {
    Row row;
    row.set_job_id(job);
    row.set_run_index(run_index);
    row.set_library("lib_" + job);
    row.set_transform("Resize");
    row.set_status("ok");
    row.set_unit("image");
    row.set_throughput(throughput);
    return row;
  }
  void Add(const std::string& job, int run_index, double throughput,
           const std::string& cause = "") {
    Row row = MakeRow(job, run_index, throughput);
    if (!cause.empty()) row.mutable_noise()->add_causes(cause);
    tally_.Add(row);
  }
  void AddFailure(const std::string& job, const std::string& status) {
    Row row = MakeRow(job, 0, 0);
    row.set_status(status);
    row.set_reason("it broke");
    tally_.Add(row);
  }

  RunTally tally_;
};

TEST_F(RunTallyTest, CountsRowsByStatus) {
  EXPECT_EQ(tally_.Counts(), "0 rows");
  Add("a", 0, 100);
  EXPECT_EQ(tally_.FirstFailure(), "");
  AddFailure("b", "failed");
  EXPECT_EQ(tally_.Counts(), "2 rows (1 failed, 1 ok)");
  EXPECT_THAT(tally_.FirstFailure(), AllOf(HasSubstr("; the first failure: "),
                                           HasSubstr(": failed: it broke")));
}

TEST_F(RunTallyTest, NamesWhatDisturbedAndHowOften) {
  Add("a", 0, 100);
  EXPECT_EQ(tally_.Noise(0.1, 0.05), "; no run noisy");
  Add("a", 1, 100, "load");
  Add("b", 0, 100, "load");
  Add("b", 1, 100, "throttling");
  EXPECT_EQ(
      tally_.Noise(2.5, 0.05),
      "; 3 runs noisy, contended or throttled (load in 2, throttling in 1) "
      "after waiting 2.5 s for a quiet machine");
}

TEST_F(RunTallyTest, TellsOnceThatTheMachineIsBusy) {
  std::vector<std::string> told;
  for (int i = 0; i < 40; ++i) {
    const std::string text =
        tally_.Busy({i % 2 == 0 ? std::vector<std::string>{"load", "steal"}
                                : std::vector<std::string>{}});
    if (!text.empty()) told.push_back(text);
  }
  EXPECT_THAT(told, testing::ElementsAre(
                        "the machine is busy with other work (load, steal); "
                        "rows say which runs that disturbed"));
}

// The cleanest attempt counts.
TEST_F(RunTallyTest, ARunThatWasRepeatedIsNotNoisy) {
  Add("a", 0, 50, "steal");
  Add("a", 0, 100);
  EXPECT_EQ(tally_.Noise(0, 0.05), "; no run noisy; 1 run measured again");
  Row worse = MakeRow("a", 0, 70);
  worse.add_warnings("contended");
  worse.mutable_noise()->add_causes("load");
  tally_.Add(worse);
  EXPECT_EQ(tally_.Noise(0, 0.05), "; no run noisy; 2 runs measured again");
}

TEST_F(RunTallyTest, CountsMediansThatAreNotStable) {
  for (const double value : {100, 120, 80}) {
    Add("a", static_cast<int>(value), value);
    Add("b", static_cast<int>(value), 100 + value / 1000);
  }
  EXPECT_THAT(tally_.Noise(0, 0.05),
              HasSubstr("; median of 1 job not within 5%"));
  EXPECT_THAT(tally_.Noise(0, 0), Not(HasSubstr("median")));
}

TEST_F(RunTallyTest, AllFailedNeedsAFailureAndNothingMeasured) {
  EXPECT_FALSE(tally_.AllFailed());
  AddFailure("a", "unsupported");
  EXPECT_FALSE(tally_.AllFailed());
  AddFailure("b", "crashed");
  EXPECT_TRUE(tally_.AllFailed());
  // The harness works; nothing else does.
  Row null = MakeRow("null", 0, 1e6);
  null.set_library("null");
  tally_.Add(null);
  EXPECT_TRUE(tally_.AllFailed());
  // Another attempt succeeds.
  Add("b", 0, 100);
  EXPECT_FALSE(tally_.AllFailed());
}

TEST_F(RunTallyTest, ATableHasALinePerJob) {
  for (int i = 0; i < 3; ++i) Add("a", i, 100 + i, i == 0 ? "load" : "");
  AddFailure("b", "crashed");
  const std::string table = tally_.Table();
  EXPECT_THAT(table, HasSubstr("transform"));
  EXPECT_THAT(table, HasSubstr("images/s"));
  EXPECT_THAT(table, HasSubstr("load in 1 of 3"));
  EXPECT_THAT(table, HasSubstr("crashed: it broke"));
  // What all jobs share is left out.
  EXPECT_THAT(table, Not(HasSubstr("workers")));
  Row row = MakeRow("c", 0, 100);
  row.set_workers(4);
  (*row.mutable_settings())["prefetch"] = "8";
  tally_.Add(row);
  EXPECT_THAT(tally_.Table(), HasSubstr("workers"));
  EXPECT_THAT(tally_.Table(), HasSubstr("prefetch"));
}

// A flip in the wrong direction must not stand there as the fastest flip.
TEST_F(RunTallyTest, ATableSaysWhoseOutputIsWrong) {
  Add("a", 0, 100);
  EXPECT_THAT(tally_.Table(), Not(HasSubstr("output")));
  Row wrong = MakeRow("b", 0, 200);
  wrong.mutable_equivalence()->set_label("different");
  wrong.add_labels("per_sample_loop");
  wrong.add_labels("optional");
  tally_.Add(wrong);
  EXPECT_THAT(tally_.Table(), ContainsRegex("lib_b.*200.*different.*per_sam"));
  EXPECT_THAT(tally_.Table(), ContainsRegex("95% interval +output"));
  EXPECT_THAT(tally_.Table(), Not(HasSubstr("optional")));
}

TEST_F(RunTallyTest, AReasonIsCutBetweenWords) {
  Row row = MakeRow("a", 0, 0);
  row.set_status("failed");
  row.set_reason("the environment torch_stack is not complete: no torchvision");
  tally_.Add(row);
  EXPECT_THAT(tally_.Table(), HasSubstr("is not complete: no…"));
}

}  // namespace
}  // namespace feedrate
