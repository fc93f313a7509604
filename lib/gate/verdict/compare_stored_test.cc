#include "lib/gate/verdict/compare_stored.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

RuleOptions Rules() {
  RuleOptions options;
  options.tolerances = *ParseTolerances(
      "tolerances { metric: \"throughput\" better: HIGHER percent: 5 } "
      "tolerances { metric: \"x\" better: LOWER percent: 5 }",
      "f", {"x"});
  return options;
}

Row MakeRow(const std::string& job, const std::string& status,
            double throughput) {
  Row row;
  row.set_job_id(job);
  row.set_mode("micro");
  row.set_library("l");
  row.set_transform(job);
  row.set_device("cpu");
  row.set_status(status);
  row.set_throughput(throughput);
  row.set_machine_profile("m");
  return row;
}

class CompareRulesTest : public testing::Test {
 protected:
  CompareRulesTest()
      : folder_(absl::StrCat(
            testing::TempDir(), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name())),
        store_(folder_) {
    EXPECT_TRUE(MakeFolder(folder_).ok());
  }
  void WriteRows(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) AppendRecord(row, &text);
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/m.rows.jsonl", text).ok());
  }
  Verdict Only(const std::vector<Row>& rows) {
    const auto verdicts = CompareRows(rows, store_, Rules());
    EXPECT_TRUE(verdicts.ok()) << verdicts.status();
    EXPECT_EQ(verdicts->size(), 1);
    return (*verdicts)[0];
  }
  const std::string folder_;
  const BaselineStore store_;
};

TEST_F(CompareRulesTest, MediansOfRunsAreCompared) {
  WriteRows({MakeRow("j", "ok", 100)});
  std::vector<Row> rows = {MakeRow("j", "ok", 99), MakeRow("j", "ok", 98),
                           MakeRow("j", "ok", 10)};
  for (int i = 0; i < 3; ++i) rows[i].set_run_index(i);
  EXPECT_EQ(Only(rows).verdict(), "same");
  EXPECT_EQ(Only(rows).pairs(), 3);
  rows[1].set_throughput(12);
  EXPECT_EQ(Only(rows).codes(0), kCodeSpread);
  rows[0].set_throughput(11);
  EXPECT_EQ(Only(rows).verdict(), "slower");
}

std::vector<Row> Runs(const std::vector<double>& throughputs,
                      const std::string& job = "j") {
  std::vector<Row> rows;
  for (const double throughput : throughputs) {
    rows.push_back(MakeRow(job, "ok", throughput));
    rows.back().set_run_index(static_cast<int>(rows.size()) - 1);
  }
  return rows;
}

// Five milliseconds of a loader prove nothing, and no counter says what
// disturbed them.
TEST_F(CompareRulesTest, ShortRunsOfALoaderCannotBeTold) {
  std::vector<Row> rows = Runs({50, 51, 49});
  WriteRows(Runs({100, 101, 99}));
  for (const double elapsed_s : {0.2, 0.005}) {
    for (Row& row : rows) {
      row.mutable_loader();
      row.set_elapsed_s(elapsed_s);
    }
    const Verdict verdict = Only(rows);
    EXPECT_EQ(verdict.verdict(), elapsed_s < 0.1 ? "cannot_tell" : "slower");
    if (elapsed_s < 0.1) {
      EXPECT_EQ(verdict.reason(),
                "3 of 3 runs of the rows are short (under 0.1 s); measure more "
                "items");
    }
  }
}

// Each disturbance, on each side, whatever the difference.
TEST_F(CompareRulesTest, DisturbedRowsCannotBeTold) {
  for (const char* warning : {"noisy", "contended", "throttled"}) {
    for (const double now : {50, 100, 200}) {
      for (const bool in_baseline : {false, true}) {
        std::vector<Row> baseline = Runs({100, 101, 99});
        std::vector<Row> rows = Runs({now, 1.01 * now, 0.99 * now});
        std::vector<Row>& disturbed = in_baseline ? baseline : rows;
        disturbed[0].add_warnings(warning);
        // One of three is left out.
        WriteRows(baseline);
        EXPECT_EQ(Only(rows).verdict(), now == 50 ? "slower" : "same");
        disturbed[1].add_warnings(warning);
        WriteRows(baseline);
        const Verdict verdict = Only(rows);
        EXPECT_EQ(verdict.verdict(), "cannot_tell");
        EXPECT_EQ(absl::StrJoin(verdict.codes(), ","), warning);
        EXPECT_EQ(
            verdict.reason(),
            absl::StrCat("2 of 3 runs of ",
                         in_baseline ? "the baseline" : "the rows", " are ",
                         warning, "; measure again on a quiet machine",
                         in_baseline ? ", and update the baseline" : ""));
      }
    }
  }
}

TEST_F(CompareRulesTest, DisturbedRunsAreLeftOut) {
  std::vector<Row> baseline = Runs({100, 101, 20});
  std::vector<Row> rows = Runs({85, 86, 300});
  baseline[2].add_warnings("noisy");
  rows[2].add_warnings("throttled");
  WriteRows(baseline);
  EXPECT_EQ(Only(rows).verdict(), "slower");
  EXPECT_EQ(Only(rows).effect().b(), 85.5);
  EXPECT_EQ(Only(rows).effect().a(), 100.5);
}

TEST_F(CompareRulesTest, ABusyMachineIsNotTrusted) {
  std::vector<Row> baseline;
  std::vector<Row> rows;
  for (int job = 0; job < 12; ++job) {
    const std::string name = absl::StrCat("job", job);
    for (const Row& row : Runs({100, 101, 99}, name)) baseline.push_back(row);
    const double now = job == 0 ? 70 : 100;
    for (const Row& row : Runs({now, now + 1, now - 1}, name)) {
      rows.push_back(row);
      if (job >= 9) rows.back().add_warnings("contended");
    }
  }
  WriteRows(baseline);
  const auto verdict_on = [&](size_t job) {
    const auto verdicts = CompareRows(rows, store_, Rules());
    for (const Verdict& verdict : *verdicts) {
      if (verdict.job_id() == absl::StrCat("job", job)) return verdict;
    }
    return Verdict();
  };
  // Three of twelve are a quarter.
  EXPECT_EQ(verdict_on(0).verdict(), "slower");
  for (int run = 0; run < 3; ++run) rows[3 * 8 + run].add_warnings("noisy");
  EXPECT_EQ(verdict_on(0).verdict(), "cannot_tell");
  EXPECT_EQ(absl::StrJoin(verdict_on(0).codes(), ","), "contended,noisy");
  EXPECT_EQ(
      verdict_on(0).reason(),
      "4 of 12 jobs of the suite were disturbed; measure again on a quiet "
      "machine");
  EXPECT_EQ(verdict_on(1).verdict(), "same");
}

TEST_F(CompareRulesTest, NoiseHidesNoMemory) {
  RuleOptions options;
  options.tolerances = *ParseTolerances(
      "tolerances { metric: \"throughput\" better: HIGHER percent: 5 } "
      "tolerances { metric: \"rss_peak_bytes\" better: LOWER percent: 5 }",
      "f");
  std::vector<Row> rows = {MakeRow("j", "ok", 50)};
  rows[0].set_rss_peak_bytes(100);
  WriteRows(rows);
  rows[0].add_warnings("noisy");
  EXPECT_EQ((*CompareRows(rows, store_, options))[0].verdict(), "cannot_tell");
  rows[0].set_rss_peak_bytes(200);
  const auto verdicts = CompareRows(rows, store_, options);
  EXPECT_EQ((*verdicts)[0].verdict(), "slower");
  EXPECT_EQ((*verdicts)[0].codes(0), "rss_peak_bytes");
}

TEST_F(CompareRulesTest, SpreadLargerThanTheDifferenceCannotBeTold) {
  WriteRows(Runs({100, 80, 120}));
  const Verdict wide = Only(Runs({85, 70, 100}));
  EXPECT_EQ(wide.verdict(), "cannot_tell");
  EXPECT_EQ(wide.codes(0), kCodeSpread);
  EXPECT_NE(wide.reason().find("scatter"), std::string::npos);
  WriteRows(Runs({100, 101, 99}));
  EXPECT_EQ(Only(Runs({85, 84, 86})).verdict(), "slower");
}

TEST_F(CompareRulesTest, OneExecutionDoesNotTellHowMuchExecutionsDiffer) {
  std::vector<Row> baseline = Runs({100, 103, 97, 102, 98});
  for (Row& row : baseline) row.set_run_id("first");
  WriteRows(baseline);
  std::vector<Row> rows = Runs({90, 89, 91, 90, 90});
  for (Row& row : rows) row.set_run_id("now");
  const Verdict one = Only(rows);
  EXPECT_EQ(one.verdict(), "cannot_tell");
  EXPECT_NE(one.reason().find("2 executions of both sides do not show how much "
                              "executions differ, so less than 20% is not "
                              "judged: store and measure 8 together"),
            std::string::npos)
      << one.reason();
  EXPECT_EQ(one.executions().baseline(), 1);
  EXPECT_EQ(one.executions().needed(), 0);
  const auto add = [&](const std::string& run_id) {
    for (int i = 0; i < 5; ++i) {
      baseline.push_back(baseline[i]);
      baseline.back().set_run_id(run_id);
    }
  };
  add("second");
  add("third");
  WriteRows(baseline);
  EXPECT_EQ(Only(rows).verdict(), "cannot_tell") << "three are too few";
  for (const char* run_id : {"4", "5", "6", "7"}) add(run_id);
  WriteRows(baseline);
  const Verdict many = Only(rows);
  EXPECT_EQ(many.verdict(), "slower");
  EXPECT_EQ(many.executions().baseline(), 7);
  EXPECT_EQ(many.executions().current(), 1);
  EXPECT_GT(many.executions().differ_percent(), 0);
  EXPECT_GE(many.executions().needed(), 4);
  // What is large is seen at once.
  baseline.resize(5);
  WriteRows(baseline);
  for (Row& row : rows) row.set_throughput(row.throughput() * 0.8);
  EXPECT_EQ(Only(rows).verdict(), "slower");
}

// 15 runs judged as if they were independent, though three executions differ.
TEST_F(CompareRulesTest, RunsOfAnExecutionAreNotIndependent) {
  std::vector<Row> baseline;
  for (const double level : {100., 101., 107., 100., 108., 99., 100.}) {
    const std::string run_id = absl::StrCat("execution ", baseline.size());
    for (Row& row : Runs({level, level + .2, level - .2, level, level})) {
      row.set_run_id(run_id);
      baseline.push_back(row);
    }
  }
  WriteRows(baseline);
  std::vector<Row> rows = Runs({93, 93.2, 92.8, 93, 93});
  for (Row& row : rows) row.set_run_id("now");
  EXPECT_EQ(Only(rows).verdict(), "cannot_tell");
}

// A process per run, and one of them was disturbed.
TEST_F(CompareRulesTest, AnOutlierHidesNoSlowdown) {
  const auto hyperfine = [](double seconds, double outlier) {
    std::vector<double> throughputs;
    for (int i = 0; i < 15; ++i) {
      throughputs.push_back(1 / (seconds * (1 + 0.002 * (i % 5))));
    }
    throughputs[7] = 1 / outlier;
    std::vector<Row> rows = Runs(throughputs);
    for (Row& row : rows) {
      row.set_mode("hyperfine");
      row.add_labels("imported");
    }
    return rows;
  };
  WriteRows(hyperfine(0.050, 0.400));
  EXPECT_EQ(Only(hyperfine(0.072, 0.072)).verdict(), "slower");
  EXPECT_EQ(Only(hyperfine(0.050, 0.300)).verdict(), "same");
}

TEST_F(CompareRulesTest, OneProcessPerSideHasNoChance) {
  const auto pytest = [](double seconds) {
    Row row = MakeRow("j", "ok", 1 / seconds);
    row.set_mode("pytest_benchmark");
    row.add_labels("imported");
    for (int i = 0; i < 20; ++i) {
      row.add_samples_s(seconds * (1 + 0.01 * (i % 4)));
    }
    return row;
  };
  WriteRows({pytest(1)});
  const Verdict verdict = Only({pytest(1.3)});
  EXPECT_EQ(verdict.verdict(), "cannot_tell");
  EXPECT_NE(verdict.reason().find("each side is one process, so the chance is "
                                  "not known"),
            std::string::npos)
      << verdict.reason();
  EXPECT_EQ(Only({pytest(5)}).verdict(), "slower");
}

// Rows of a job that is as fast as `of_limit` copies, and the speed of those.
std::vector<Row> WithCopies(std::vector<Row> rows, double speed,
                            double of_limit, const std::string& run_id = "") {
  for (Row& row : rows) {
    row.mutable_core_speed()->set_copy_bytes_per_s(speed);
    row.set_of_limit(of_limit);
    row.set_run_id(run_id);
  }
  return rows;
}

TEST_F(CompareRulesTest, SlowerMemoryIsNoSlowdown) {
  const std::vector<double> slow = {88, 87, 89};
  WriteRows(WithCopies(Runs({100, 101, 99}), 100, 0.6));
  EXPECT_EQ(Only(WithCopies(Runs(slow), 100, 0.6)).verdict(), "slower");
  const Verdict verdict = Only(WithCopies(Runs(slow), 90, 0.6));
  EXPECT_EQ(verdict.verdict(), "cannot_tell");
  EXPECT_NE(verdict.reason().find("copies were 10.0% slower"),
            std::string::npos);
  EXPECT_EQ(Only(WithCopies(Runs({91, 92, 90}), 90, 0.7)).verdict(), "same")
      << "copies explain it";
  EXPECT_EQ(Only(WithCopies(Runs(slow), 90, 0.05)).verdict(), "slower")
      << "it hardly uses memory";
}

TEST_F(CompareRulesTest, FasterMemoryHidesNoSlowdown) {
  WriteRows(WithCopies(Runs({100, 101, 99}), 100, 0.7));
  const std::vector<double> hidden = {97, 96, 98};
  EXPECT_EQ(Only(WithCopies(Runs(hidden), 100, 0.7)).verdict(), "same");
  const Verdict verdict = Only(WithCopies(Runs(hidden), 115, 0.7));
  EXPECT_NE(verdict.verdict(), "same");
  EXPECT_NE(verdict.reason().find("copies were 15.0% faster"),
            std::string::npos);
}

TEST_F(CompareRulesTest, MemoryExplainsHowExecutionsDiffer) {
  const auto judge = [this](bool copies_differ) {
    std::vector<Row> baseline;
    for (const double speed : {100., 107., 93., 100.5, 106., 94., 99.}) {
      for (const Row& row : WithCopies(Runs({speed, speed + 1, speed - 1}),
                                       copies_differ ? speed : 100, 0.75,
                                       absl::StrCat("of ", speed))) {
        baseline.push_back(row);
      }
    }
    WriteRows(baseline);
    return Only(WithCopies(Runs({91, 92, 90}), 100, 0.75, "now")).verdict();
  };
  EXPECT_EQ(judge(/*copies_differ=*/true), "slower");
  EXPECT_EQ(judge(/*copies_differ=*/false), "cannot_tell");
}

TEST_F(CompareRulesTest, TheSamplesOfSingleRunsSayHowSureTheyAre) {
  Row baseline = MakeRow("j", "ok", 100);
  Row row = MakeRow("j", "ok", 90);
  const double noise[] = {0.7, 1.4, 0.8, 1.2, 1.1, 0.6};
  for (int i = 0; i < 6; ++i) {
    baseline.add_samples_s(noise[i]);
    row.add_samples_s(1.1 * noise[5 - i]);
  }
  WriteRows({baseline});
  EXPECT_EQ(Only({row}).codes(0), kCodeSpread);
  row.clear_samples_s();
  for (const double n : noise) row.add_samples_s(1.1 * n);
  EXPECT_EQ(Only({row}).verdict(), "slower");
}

TEST_F(CompareRulesTest, TheCleanestAttemptCountsAndIsNamed) {
  WriteRows({MakeRow("j", "ok", 100)});
  std::vector<Row> rows = {MakeRow("j", "ok", 100), MakeRow("j", "ok", 50)};
  rows[1].set_attempt(1);
  EXPECT_EQ(Only(rows).verdict(), "slower");
  rows[1].add_warnings("noisy");
  const Verdict verdict = Only(rows);
  EXPECT_EQ(verdict.verdict(), "same");
  EXPECT_NE(verdict.reason().find("run 0: attempt 0 of 2"), std::string::npos);
}

TEST_F(CompareRulesTest, OtherVersionsAndDataAreNotCompared) {
  Row stored = MakeRow("j", "ok", 100);
  stored.set_library_version("2.1");
  WriteRows({stored});
  Row row = MakeRow("j", "ok", 50);
  row.set_library_version("2.2");
  Verdict verdict = Only({row});
  EXPECT_EQ(verdict.verdict(), "invalid");
  EXPECT_EQ(verdict.codes(0), kCodeOtherVersion);
  EXPECT_NE(verdict.reason().find("of l 2.1, the rows of 2.2"),
            std::string::npos);
  RuleOptions any = Rules();
  any.any_version = true;
  EXPECT_EQ((*CompareRows({row}, store_, any))[0].verdict(), "slower");
  stored.mutable_dataset()->set_sha256("a");
  WriteRows({stored});
  row = stored;
  row.mutable_dataset()->set_sha256("b");
  EXPECT_EQ(Only({row}).codes(0), kCodeOtherData);
}

TEST_F(CompareRulesTest, SaysHowTheBaselinesJobDiffers) {
  Row stored = MakeRow("j", "ok", 100);
  stored.set_num_items(64);
  WriteRows({stored});
  Row row = stored;
  row.set_job_id("k");
  row.set_num_items(10);
  const auto verdicts = CompareRows({row}, store_, Rules());
  EXPECT_EQ((*verdicts)[0].reason(),
            "the baseline has this job with num_items 64, not 10");
  // The same machine with another kind of results is not another machine.
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/n.metrics.json", "{}").ok());
  row.set_machine_profile("n");
  EXPECT_NE(Only({row}).reason().find("only results of other kinds"),
            std::string::npos);
  row.set_machine_profile("");
  EXPECT_NE(Only({row}).reason().find("do not say which machine"),
            std::string::npos);
}

TEST_F(CompareRulesTest, TheMachineThatDiffersInOnePartIsNamed) {
  Row stored = MakeRow("j", "ok", 100);
  stored.set_machine_profile("h200x1_torch2.11_sm90");
  std::string text;
  AppendRecord(stored, &text);
  ASSERT_TRUE(
      WriteFileAtomically(folder_ + "/h200x1_torch2.11_sm90.rows.jsonl", text)
          .ok());
  stored.set_machine_profile("h200x1_torch2.12_sm90");
  EXPECT_NE(Only({stored}).reason().find("(torch2.11, not torch2.12)"),
            std::string::npos);
}

TEST_F(CompareRulesTest, StatusesComeFirst) {
  WriteRows({MakeRow("j", "ok", 100)});
  for (const char* status :
       {"crashed", "failed", "oom", "timeout", "diverged"}) {
    const Verdict verdict = Only({MakeRow("j", status, 0)});
    EXPECT_EQ(verdict.verdict(), "invalid");
    EXPECT_EQ(verdict.codes(0), status);
  }
  EXPECT_EQ(Only({MakeRow("j", "unsupported", 0)}).verdict(), "cannot_tell");
  EXPECT_EQ(Only({MakeRow("j", "early_stopped", 1)}).verdict(), "cannot_tell");
  // It was so before.
  for (const char* status : {"early_stopped", "unsupported", "failed"}) {
    WriteRows({MakeRow("j", status, 1)});
    const Verdict verdict = Only({MakeRow("j", status, 1)});
    EXPECT_EQ(verdict.verdict(), "invalid");
    EXPECT_EQ(verdict.codes_size(), 2) << status;
    EXPECT_EQ(verdict.codes(0), kCodeBothSides);
    const Verdict runs_now = Only({MakeRow("j", "ok", 100)});
    EXPECT_EQ(runs_now.verdict(), "invalid");
    EXPECT_EQ(absl::StrJoin(runs_now.codes(), ","), kCodeNoBaseline);
    EXPECT_EQ(runs_now.reason(),
              absl::StrCat("it runs, but no run of the baseline is ok (",
                           status, "); update the baseline"));
  }
}

TEST_F(CompareRulesTest, JobsOnOneSideOnlyAreNamed) {
  WriteRows({MakeRow("old", "ok", 100)});
  const auto verdicts = CompareRows({MakeRow("new", "ok", 1)}, store_, Rules());
  ASSERT_EQ(verdicts->size(), 2);
  EXPECT_EQ((*verdicts)[0].codes(0), kCodeNoBaseline);
  EXPECT_EQ((*verdicts)[1].codes(0), kCodeNotRun);
}

TEST_F(CompareRulesTest, AnotherMachineIsNeverCompared) {
  WriteRows({MakeRow("j", "ok", 100)});
  Row row = MakeRow("j", "ok", 1);
  row.set_machine_profile("other");
  const Verdict verdict = Only({row});
  EXPECT_EQ(verdict.verdict(), "invalid");
  EXPECT_EQ(verdict.codes(0), kCodeNoBaseline);
  EXPECT_NE(verdict.reason().find("baselines of m"), std::string::npos);
}

TEST_F(CompareRulesTest, MetricsFiles) {
  MetricsFile current;
  current.machine_profile = "m";
  current.metrics = {{"x", 1.1}};
  EXPECT_EQ(CompareMetrics(current, "metrics", store_, Rules())->codes(0),
            kCodeNoBaseline);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/m.eval.json",
                                  "{\"machine_profile\":\"m\",\"x\":1}")
                  .ok());
  EXPECT_EQ(CompareMetrics(current, "eval", store_, Rules())->verdict(),
            "slower");
  ASSERT_TRUE(WriteFileAtomically(
                  folder_ + "/m.metrics.json",
                  "{\"machine_profile\":\"m\",\"model\":\"tiny\",\"x\":1}")
                  .ok());
  // Leaving the model out does not pass for the same one.
  EXPECT_EQ(CompareMetrics(current, "metrics", store_, Rules())->codes(0),
            kCodeOtherJob);
  current.texts["model"] = "tiny";
  EXPECT_EQ(CompareMetrics(current, "metrics", store_, Rules())->verdict(),
            "slower");
  current.texts["model"] = "small";
  const auto other = CompareMetrics(current, "metrics", store_, Rules());
  EXPECT_EQ(other->codes(0), kCodeOtherJob);
  EXPECT_NE(other->reason().find("model tiny, the file of small"),
            std::string::npos);
  ASSERT_TRUE(
      WriteFileAtomically(folder_ + "/m.eval.json", "{\"machine_prof").ok());
  EXPECT_FALSE(CompareMetrics(current, "eval", store_, Rules()).ok());
}

// Writers print 0 for what was not measured.
TEST_F(CompareRulesTest, NoTimeIsNotTheFastest) {
  RuleOptions options;
  Tolerance* const tolerance = options.tolerances.add_tolerances();
  tolerance->set_metric("step_time_p50");
  tolerance->set_better(LOWER);
  tolerance->set_percent(5);
  ASSERT_TRUE(
      WriteFileAtomically(folder_ + "/m.metrics.json",
                          "{\"machine_profile\":\"m\",\"step_time_p50\":1}")
          .ok());
  MetricsFile current;
  current.machine_profile = "m";
  current.metrics = {{"step_time_p50", 0.5}};
  current.lines = {{"step_time_p50", 1}};
  EXPECT_TRUE(CompareMetrics(current, "metrics", store_, options).ok());
  current.metrics["step_time_p50"] = 0;
  EXPECT_FALSE(CompareMetrics(current, "metrics", store_, options).ok());
}

// As `train --metrics` writes them: what its rows warn of counts here too.
TEST_F(CompareRulesTest, MetricsFilesKnowTheirRuns) {
  RuleOptions options;
  Tolerance* const tolerance = options.tolerances.add_tolerances();
  tolerance->set_metric("step_time_p50");
  tolerance->set_better(LOWER);
  tolerance->set_percent(5);
  const auto judged = [&](const std::string& before, const std::string& now) {
    EXPECT_TRUE(
        WriteFileAtomically(folder_ + "/m.metrics.json",
                            "{\"machine_profile\":\"m\"," + before + "}")
            .ok());
    const auto file =
        ParseMetrics("{\"machine_profile\":\"m\"," + now + "}", "now.json");
    EXPECT_TRUE(file.ok()) << file.status();
    return *CompareMetrics(*file, "metrics", store_, options);
  };
  const std::string one = "\"step_time_p50\":1";
  const std::string slow = "\"step_time_p50\":1.2";
  const std::string clean =
      ",\"runs\":3,\"disturbed_runs\":1,\"warnings\":\"noisy\"";
  const std::string busy =
      ",\"runs\":3,\"disturbed_runs\":2,\"warnings\":\"contended noisy\"";
  EXPECT_EQ(judged(one, slow + clean).verdict(), "slower");
  const Verdict disturbed = judged(one, slow + busy);
  EXPECT_EQ(disturbed.verdict(), "cannot_tell");
  EXPECT_EQ(disturbed.codes(0), "contended");
  EXPECT_EQ(judged(one + busy, slow).verdict(), "cannot_tell");
  // Runs that scatter more than they differ.
  EXPECT_EQ(judged(one + ",\"of_runs\":{\"step_time_p50\":[0.9,1,1.3]}",
                   slow + ",\"of_runs\":{\"step_time_p50\":[1.1,1.2,1.25]}")
                .verdict(),
            "cannot_tell");
  EXPECT_EQ(judged(one + ",\"of_runs\":{\"step_time_p50\":[1,1.001,0.999]}",
                   slow + ",\"of_runs\":{\"step_time_p50\":[1.2,1.201,1.2]}")
                .verdict(),
            "slower");
}

}  // namespace
}  // namespace feedrate
