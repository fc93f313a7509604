#include "lib/gate/duel.h"

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/duel_summary.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// A shell that prints rows of two jobs; `two` takes `seconds`, and only `two`
// when it is told which jobs to run.
std::string RowPrinter(const std::string& seconds) {
  return "print_row() { echo '{\"schema\":1,\"record\":\"row\",\"job_id\":\"'$1"
         "'\",\"mode\":\"micro\",\"transform\":\"'$1'\",\"status\":\"ok\","
         "\"machine_profile\":\"m\",\"samples_s\":['$2']}'; }; "
         "set -- {jobs}; [ -n \"$1\" ] || print_row one 1; print_row two " +
         seconds;
}

class DuelTest : public testing::Test {
 protected:
  absl::StatusOr<DuelResult> Duel(DuelOptions options) {
    options.seed = 5;
    options.write = [this](const google::protobuf::Message& record) {
      ++records_[record.GetDescriptor()->name()];
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
  std::map<std::string, int> records_;
  std::vector<Row> rows_;
};

TEST_F(DuelTest, PlainCommandsAreOneSampleARun) {
  const auto result = Duel(Plain("true", "true", 3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kDone);
  EXPECT_EQ(records_["Duel"], 1);
  ASSERT_EQ(rows_.size(), 6);
  // A probe and a warm-up, then the pairs.
  EXPECT_EQ(result->runs, 8);
  std::map<std::string, int> sides;
  for (size_t i = 0; i < rows_.size(); ++i) {
    EXPECT_EQ(rows_[i].pair().index(), static_cast<int>(i / 2));
    EXPECT_EQ(rows_[i].pair().position(), static_cast<int>(i % 2));
    EXPECT_EQ(rows_[i].machine_profile(), "m");
    ++sides[rows_[i].pair().side()];
  }
  EXPECT_EQ(sides["a"], 3);
  EXPECT_EQ(sides["b"], 3);
  EXPECT_FALSE(DuelSummary(Plain("true", "true", 3), *result).empty());
}

TEST_F(DuelTest, TheOrderIsByCoin) {
  const auto result = Duel(Plain("true", "true", 16));
  ASSERT_TRUE(result.ok());
  int b_first = 0;
  for (const Row& row : rows_) {
    b_first += row.pair().position() == 0 && row.pair().side() == "b";
  }
  EXPECT_GT(b_first, 1);
  EXPECT_LT(b_first, 15);
}

TEST_F(DuelTest, OnlySuspectsRunAgain) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1.1"), 0);
  options.looks = {10, 20, 30};
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  std::map<std::string, int> count;
  for (const Row& row : rows_) ++count[row.job_id()];
  EXPECT_EQ(count["one"], 20);
  EXPECT_EQ(count["two"], 40);
  ASSERT_EQ(result->verdicts.size(), 2);
  EXPECT_EQ(result->verdicts[0].verdict(), "same");
  EXPECT_EQ(result->verdicts[1].verdict(), "slower");
  EXPECT_NEAR(result->verdicts[1].effect().percent(), 10, 1e-6);
  EXPECT_NE(DuelSummary(options, *result).find("1 of 2 jobs are the same"),
            std::string::npos);
}

TEST_F(DuelTest, RerunsEverythingWhenAsked) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1.1"), 0);
  options.looks = {10, 20, 30};
  options.rerun_all = true;
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(rows_.size(), 60);
}

TEST_F(DuelTest, RerunsEverythingWhenJobsAreRefused) {
  const std::string refuses = "[ -z \"{jobs}\" ] || exit 1; ";
  DuelOptions options =
      Plain(refuses + RowPrinter("1"), refuses + RowPrinter("1.1"), 0);
  options.looks = {10, 20, 30};
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kDone);
  EXPECT_EQ(rows_.size(), 60);
  EXPECT_EQ(warnings.size(), 1);
  EXPECT_EQ(result->verdicts[1].verdict(), "slower");
}

TEST_F(DuelTest, OneJobAlone) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1"), 2);
  options.only = "two";
  ASSERT_TRUE(Duel(options).ok());
  EXPECT_EQ(rows_.size(), 4);
  for (const Row& row : rows_) EXPECT_EQ(row.job_id(), "two");
  options.only = "three";
  EXPECT_EQ(Duel(options).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DuelTest, ASideThatDiesIsARowAndTheEnd) {
  const auto result = Duel(Plain("true", "kill -SEGV $$", 3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kRunFailed);
  ASSERT_FALSE(rows_.empty());
  EXPECT_EQ(rows_.back().status(), "crashed");
  EXPECT_EQ(rows_.back().pair().side(), "b");
  EXPECT_EQ(result->verdicts.back().verdict(), "invalid");
}

TEST_F(DuelTest, FailuresCanBeIgnored) {
  DuelOptions options = Plain("exit 1", "exit 1", 2);
  options.ignore_failure = true;
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kDone);
  EXPECT_EQ(rows_.size(), 4);
}

TEST_F(DuelTest, CanBeStopped) {
  DuelOptions options = Plain("sleep 600", "sleep 600", 2);
  options.is_stopped = [] { return true; };
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kInterrupted);
  EXPECT_TRUE(rows_.empty());
}

TEST_F(DuelTest, RowsThatWerePromisedAreMissed) {
  DuelOptions options = Plain("true", "true", 2);
  options.timing = DuelTiming::kRows;
  EXPECT_FALSE(Duel(options).ok());
}

TEST(SecondsTextTest, Units) {
  EXPECT_EQ(SecondsText(2), "2.000 s");
  EXPECT_EQ(SecondsText(0.1023), "102.3 ms");
  EXPECT_EQ(SecondsText(3e-6), "3.0 µs");
}

}  // namespace
}  // namespace feedrate
