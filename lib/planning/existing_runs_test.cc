#include "lib/planning/existing_runs.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Row TheRow(const char* job, int run, const char* status, int attempt = 0) {
  Row row;
  row.set_job_id(job);
  row.set_run_index(run);
  row.set_status(status);
  row.set_attempt(attempt);
  row.set_machine_profile("here");
  return row;
}

TEST(ExistingRunsTest, OnlyWhatSucceededIsDone) {
  ExistingRuns runs("");
  runs.Add(TheRow("a", 0, "ok"));
  for (const char* status : {"failed", "crashed", "timeout", "oom", "odd"}) {
    runs.Add(TheRow(status, 0, status));
    EXPECT_FALSE(runs.Done(status, 0)) << status;
  }
  EXPECT_TRUE(runs.Done("a", 0));
  EXPECT_FALSE(runs.Done("a", 1));
  EXPECT_FALSE(runs.Done("other", 0));
}

TEST(ExistingRunsTest, EarlyStopAndUnsupportedAnswerForLaterRuns) {
  ExistingRuns runs("");
  runs.Add(TheRow("slow", 0, "early_stopped"));
  runs.Add(TheRow("none", 0, "unsupported"));
  EXPECT_TRUE(runs.Done("slow", 4));
  EXPECT_TRUE(runs.Done("none", 4));
}

TEST(ExistingRunsTest, TheLastAttemptCounts) {
  ExistingRuns runs("");
  runs.Add(TheRow("a", 0, "crashed", 0));
  runs.Add(TheRow("a", 0, "ok", 1));
  runs.Add(TheRow("b", 0, "failed", 2));
  runs.Add(TheRow("b", 0, "ok", 1));  // Files come in any order.
  EXPECT_TRUE(runs.Done("a", 0));
  EXPECT_FALSE(runs.Done("b", 0));
}

TEST(ExistingRunsTest, OtherMachinesCountOnlyWhenNoneIsAsked) {
  ExistingRuns here("here"), there("there"), any("");
  for (ExistingRuns* runs : {&here, &there, &any}) {
    runs->Add(TheRow("a", 0, "ok"));
  }
  EXPECT_TRUE(here.Done("a", 0));
  EXPECT_FALSE(there.Done("a", 0));
  EXPECT_TRUE(any.Done("a", 0));
}

TEST(ExistingRunsTest, ReadsFilesAndComplains) {
  const std::string path = ::testing::TempDir() + "/existing_runs_test.jsonl";
  std::string content;
  AppendRecord(TheRow("a", 0, "ok"), &content);
  content += "rubbish\n{\"schema\":1,\"record\":\"env\"}\n";
  AppendRecord(TheRow("a", 1, "ok"), &content);
  content += "{\"schema\":1,\"rec";
  ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  ExistingRuns runs("");
  std::vector<std::string> complaints;
  ASSERT_TRUE(
      runs.Read({path},
                [&](const std::string& text) { complaints.push_back(text); })
          .ok());
  EXPECT_EQ(runs.rows(), 2);
  EXPECT_TRUE(runs.Done("a", 1));
  EXPECT_THAT(complaints, ElementsAre(HasSubstr(":2: "), HasSubstr(":5: ")));
  EXPECT_EQ(runs.Read({"no/such"}, [](const std::string&) {}).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
