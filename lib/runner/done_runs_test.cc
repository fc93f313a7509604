#include "lib/runner/done_runs.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

class DoneRunsTest : public testing::Test {
 protected:
  void Add(const std::string& job_id, int run_index, int attempt,
           const std::string& status, const std::string& version = "2.0",
           const std::string& profile = "here") {
    Row row;
    row.set_job_id(job_id);
    row.set_library("lib");
    row.set_run_index(run_index);
    row.set_attempt(attempt);
    row.set_status(status);
    row.set_library_version(version);
    row.set_machine_profile(profile);
    AppendRecord(row, &text_);
  }

  DoneRuns Read() {
    const std::string path = testing::TempDir() + "/done_runs.jsonl";
    std::ofstream(path) << text_;
    DoneRuns done("here", [](const std::string&) { return "2.0"; });
    EXPECT_TRUE(done.Read({path}, nullptr).ok());
    return done;
  }

  std::string text_;
};

TEST_F(DoneRunsTest, OnlyOwnMachineAndVersionCount) {
  Add("a", 0, 0, "ok");
  Add("b", 0, 0, "ok", "1.0");
  Add("c", 0, 0, "ok", "2.0", "elsewhere");
  const DoneRuns done = Read();
  EXPECT_TRUE(done.Done("a", 0));
  EXPECT_FALSE(done.Done("a", 1));
  EXPECT_FALSE(done.Done("b", 0));
  EXPECT_FALSE(done.Done("c", 0));
}

TEST_F(DoneRunsTest, TheLastAttemptCountsAndTheNextIsNumbered) {
  Add("a", 0, 0, "crashed");
  Add("a", 0, 1, "ok");
  Add("b", 0, 0, "timeout");
  const DoneRuns done = Read();
  EXPECT_TRUE(done.Done("a", 0));
  EXPECT_FALSE(done.Done("b", 0));
  EXPECT_EQ(done.NextAttempt("a", 0), 2);
  EXPECT_EQ(done.NextAttempt("b", 0), 1);
  EXPECT_EQ(done.NextAttempt("b", 1), 0);
}

TEST_F(DoneRunsTest, EarlyStoppedAnswersForLaterRuns) {
  Add("a", 0, 0, "early_stopped");
  Add("b", 0, 0, "unsupported", "");
  const DoneRuns done = Read();
  EXPECT_TRUE(done.Done("a", 4));
  EXPECT_TRUE(done.Done("b", 4));
}

}  // namespace
}  // namespace feedrate
