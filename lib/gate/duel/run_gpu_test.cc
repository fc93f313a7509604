// Duels with one process for both sides, and on machines with a GPU.
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "lib/gate/duel/duel.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

class RunsTest : public testing::Test {
 protected:
  absl::StatusOr<DuelResult> Run(DuelOptions options) {
    options.seed = 5;
    options.write = [this](const google::protobuf::Message& record) {
      if (record.GetDescriptor()->name() == "Row") {
        rows_.push_back(static_cast<const Row&>(record));
      }
      return absl::OkStatus();
    };
    return RunDuel(options);
  }
  DuelOptions Plain(const std::string& a, const std::string& b, int pairs) {
    DuelOptions options;
    options.a = a;
    options.b = b;
    options.looks = {pairs};
    options.machine_profile = "m";
    return options;
  }
  std::vector<Row> rows_;
};

// A program with both sides: B takes as long as `b` says. Counts its runs.
std::string BothPrinter(const std::string& b) {
  return "n=0; while read side jobs; do n=$((n + 1)); case $side in a) t=1;; "
         "*) t=" +
         b +
         ";; esac; for job in ${jobs:-one two}; do echo "
         "'{\"schema\":1,\"record\":\"row\",\"job_id\":\"'$job'\","
         "\"mode\":\"command\",\"settings\":{\"name\":\"'$job $n'\"},"
         "\"status\":\"ok\",\"samples_s\":['$t']}'; done; echo; done";
}

TEST_F(RunsTest, OneProcessHasBothSides) {
  DuelOptions options = Plain("x", "x", 20);
  options.timing = DuelTiming::kRows;
  options.both = BothPrinter("1.1");
  const auto result = Run(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kDone);
  ASSERT_EQ(rows_.size(), 80);
  // It is the same process from the first run to the last.
  EXPECT_EQ(rows_.back().settings().at("name"), "two 40");
  ASSERT_EQ(result->verdicts.size(), 2);
  EXPECT_EQ(result->verdicts[0].verdict(), "slower");
  EXPECT_NEAR(result->verdicts[0].effect().percent(), 10, 0.01);
}

TEST_F(RunsTest, OneProcessRunsOnlyTheJobsInDoubt) {
  DuelOptions options = Plain("x", "x", 10);
  options.looks = {10, 20};
  options.timing = DuelTiming::kRows;
  // Job one is the same, and two is not.
  options.both = absl::StrReplaceAll(
      BothPrinter("1.1"),
      {{"['$t']", "['$([ $job = one ] && echo 1 || echo $t)']"}});
  ASSERT_TRUE(Run(options).ok());
  EXPECT_EQ(rows_.size(), 60);
  EXPECT_EQ(rows_.back().job_id(), "two");
}

TEST_F(RunsTest, AProcessWithBothSidesThatEndsIsAFailure) {
  DuelOptions options = Plain("x", "x", 20);
  options.timing = DuelTiming::kRows;
  for (const auto& [both, words] :
       std::vector<std::pair<std::string, std::string>>{
           {"read side", "ended without an answer"},
           {"read side; echo worse >&2; exit 3", "exit code 3: worse"},
           {"read side; kill -SEGV $$", "killed by signal 11"}}) {
    options.both = both;
    const auto result = Run(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->exit_code, ExitCode::kRunFailed);
    EXPECT_NE(result->failure.find(words), std::string::npos)
        << result->failure;
  }
  options.both = "read side; sleep 60";
  options.timeout_s = 0.2;
  EXPECT_NE(Run(options)->failure.find("timeout"), std::string::npos);
}

TEST_F(RunsTest, RowsSayWhatTheGpuDid) {
  setenv("FEEDRATE_FAKE_NVML", "h200", 1);
  DuelOptions options = Plain("sleep 0.06", "sleep 0.06", 2);
  options.gpu_libraries = {"lib/machine/testing/libfake_nvml.so"};
  // No command uses the GPU, so others do not matter.
  setenv("FEEDRATE_FAKE_OTHERS", "1:30", 1);
  ASSERT_TRUE(Run(options).ok());
  ASSERT_EQ(rows_.size(), 4);
  EXPECT_EQ(rows_[0].gpu().clocks_mhz(0), 1980);
  EXPECT_EQ(rows_[0].gpu().memory_clocks_mhz(0), 3201);
  EXPECT_EQ(rows_[0].gpu().temperature_c(), 41);
  EXPECT_EQ(rows_[0].gpu().power_limit_w(), 700);
  EXPECT_FALSE(rows_[0].gpu().has_other_processes());
  EXPECT_EQ(rows_[0].warnings_size(), 0);
  // This process stands for one of the commands.
  setenv("FEEDRATE_FAKE_OTHERS", absl::StrCat(getpid(), ":0,1:30").c_str(), 1);
  rows_.clear();
  ASSERT_TRUE(Run(options).ok());
  EXPECT_EQ(rows_[3].gpu().other_processes(), 1);
  EXPECT_NEAR(rows_[3].gpu().other_busy(), 0.3, 1e-9);
  EXPECT_EQ(rows_[3].warnings(0), "contended");
  EXPECT_EQ(rows_[3].noise().causes(0), "gpu_shared");
  unsetenv("FEEDRATE_FAKE_OTHERS");
}

}  // namespace
}  // namespace feedrate
