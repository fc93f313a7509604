#include "lib/gate/verdict/rule_verdicts.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

Tolerances Parsed(const std::string& text) {
  const absl::StatusOr<Tolerances> tolerances = ParseTolerances(text, "f");
  EXPECT_TRUE(tolerances.ok()) << tolerances.status();
  return *tolerances;
}

TEST(TolerancesTest, TheDefaultsAreRight) {
  const auto defaults = LoadTolerances("configs/gate/tolerances.textproto");
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  const auto* t = ToleranceFor(*defaults, "tokens_per_sec_p50", "", "", false);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->percent(), 5);
  EXPECT_EQ(ToleranceFor(*defaults, "step_time_p90", "", "", false), nullptr);
  EXPECT_NE(ToleranceFor(*defaults, "step_time_p90", "", "", true), nullptr);
  EXPECT_EQ(ToleranceFor(*defaults, "loss_slope", "", "", false)->max_value(),
            0.001);
  EXPECT_EQ(ToleranceFor(*defaults, "seed", "", "", true), nullptr);
}

TEST(TolerancesTest, TheLastThatMatchesCounts) {
  const Tolerances t = Parsed(R"(
      tolerances { metric: "throughput" better: HIGHER percent: 5 }
      tolerances { metric: "through*" jobs: "opencv *" better: HIGHER percent: 9 }
      tolerances { metric: "throughput" jobs: "0123" off: true })");
  EXPECT_EQ(ToleranceFor(t, "throughput", "ff", "kornia A", false)->percent(),
            5);
  EXPECT_EQ(ToleranceFor(t, "throughput", "ff", "opencv A", false)->percent(),
            9);
  EXPECT_EQ(ToleranceFor(t, "throughput", "0123456789abcdef", "x", false),
            nullptr);
}

TEST(TolerancesTest, MetricsAreFieldsAtAnyDepth) {
  constexpr char kFormat[] =
      "tolerances { metric: \"%s\" better: LOWER percent: 1 }";
  for (const char* metric :
       {"gpu_memory.peak_allocated_bytes", "loader.gpu.busy", "storage.*",
        "step_time_p50", "probe_accuracy"}) {
    EXPECT_TRUE(
        ParseTolerances(absl::StrReplaceAll(kFormat, {{"%s", metric}}), "f")
            .ok())
        << metric;
  }
  // In the order of a name and what it should have been.
  for (const auto& name : std::vector<std::pair<const char*, const char*>>{
           {"tokens_per_sec_p90", "did you mean \"tokens_per_sec_p50\""},
           {"troughput", "did you mean \"throughput\""},
           {"loader.gpu_use", "loader.gpu_use"},
           {"storrage.*", "storrage.*"}}) {
    const auto wrong = ParseTolerances(
        absl::StrReplaceAll(kFormat, {{"%s", name.first}}), "f");
    EXPECT_EQ(wrong.status().message().find("f:1:"), 0) << wrong.status();
    EXPECT_NE(wrong.status().message().find(name.second), std::string::npos)
        << wrong.status();
  }
  EXPECT_TRUE(ParseTolerances(absl::StrReplaceAll(kFormat, {{"%s", "mine"}}),
                              "f", {"mine"})
                  .ok());
}

struct BadCase {
  const char* text;
  const char* message;
};

class BadTolerancesTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadTolerancesTest, IsRefusedWithThePlace) {
  const auto result = ParseTolerances(GetParam().text, "f");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find(GetParam().message),
            std::string::npos)
      << result.status();
  EXPECT_EQ(result.status().message().substr(0, 2), "f:") << result.status();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTolerancesTest,
    testing::Values(
        BadCase{"", "no tolerance"},
        BadCase{"tolerances { }", "`metric` is missing"},
        BadCase{"tolerances { metric: \"x\" }", "has 0 limits"},
        BadCase{"tolerances { metric: \"x\" better: LOWER percent: 1 "
                "absolute: 1 }",
                "has 2 limits"},
        BadCase{"tolerances { metric: \"x\" percent: 1 }", "`better`"},
        BadCase{"tolerances { metric: \"x\" better: LOWER percent: -1 }",
                "from 0 upwards"},
        BadCase{"tolerances { metric: \"x\" better: LOWER absolute: inf }",
                "from 0 upwards"},
        BadCase{"tolerances { metric: \"x\" max_value: nan }", "not finite"},
        BadCase{"tolerances { metric: \"x\" off: true max_value: 1 }",
                "without a limit"},
        BadCase{"tolerances { metrik: \"x\" }", "metric"}));

RuleOptions Defaults(bool with_tails = false) {
  RuleOptions options;
  options.tolerances = *LoadTolerances("configs/gate/tolerances.textproto");
  options.with_tails = with_tails;
  return options;
}

// One metric under the default tolerances.
struct RuleCase {
  const char* metric;
  double baseline;
  double current;
  const char* verdict;
  const char* codes;
  double floor = 0;
  bool tails = false;
};

class DefaultRulesTest : public testing::TestWithParam<RuleCase> {};

TEST_P(DefaultRulesTest, Verdict) {
  const RuleCase& c = GetParam();
  RuleJob job;
  job.label = "metrics";
  job.machine_profile = "m";
  job.baseline[c.metric] = c.baseline;
  job.current[c.metric] = c.current;
  // Another metric that passes, so that there is always a rule.
  job.baseline["perplexity"] += c.metric == std::string("perplexity") ? 0 : 9;
  job.current["perplexity"] += c.metric == std::string("perplexity") ? 0 : 9;
  if (c.floor > 0) job.floor_percent = c.floor;
  const Verdict verdict = JudgeRules(job, Defaults(c.tails));
  EXPECT_EQ(verdict.verdict(), c.verdict) << verdict.reason();
  EXPECT_EQ(absl::StrJoin(verdict.codes(), ","), c.codes);
  EXPECT_FALSE(verdict.reason().empty());
  EXPECT_EQ(verdict.mode(), "rules");
}

constexpr char kTokens[] = "tokens_per_sec_p50";
constexpr char kSamples[] = "samples_per_sec_p50";
constexpr char kStep[] = "step_time_p50";
constexpr char kMemory[] = "memory_peak_bytes";
constexpr char kSlope[] = "loss_slope";
constexpr char kWait[] = "data_wait_share";
constexpr char kPerplexity[] = "perplexity";
constexpr char kProbe[] = "probe_accuracy";

INSTANTIATE_TEST_SUITE_P(
    All, DefaultRulesTest,
    testing::Values(
        // Throughput: a drop of more than 5%.
        RuleCase{kTokens, 1000, 1000, "same", ""},
        RuleCase{kTokens, 1000, 951, "same", ""},
        RuleCase{kTokens, 1000, 950, "same", ""},
        RuleCase{kTokens, 1000, 949, "slower", kTokens},
        RuleCase{kTokens, 1000, 500, "slower", kTokens},
        RuleCase{kTokens, 1000, 2000, "same", ""},
        RuleCase{kTokens, 1000, 0, "slower", kTokens},
        RuleCase{kSamples, 200, 190, "same", ""},
        RuleCase{kSamples, 200, 189.9, "slower", kSamples},
        RuleCase{kSamples, 200, 1e9, "same", ""},
        RuleCase{"throughput", 50, 47.5, "same", ""},
        RuleCase{"throughput", 50, 47.4, "slower", "throughput"},
        // Step time: more than 5% up.
        RuleCase{kStep, 0.1, 0.1, "same", ""},
        RuleCase{kStep, 0.1, 0.105, "same", ""},
        RuleCase{kStep, 0.1, 0.1051, "slower", kStep},
        RuleCase{kStep, 0.1, 0.05, "same", ""},
        // Memory warns above 10%.
        RuleCase{kMemory, 1e9, 1.1e9, "same", ""},
        RuleCase{kMemory, 1e9, 1.11e9, "same", kMemory},
        RuleCase{kMemory, 1e9, 9e9, "same", kMemory},
        RuleCase{kMemory, 1e9, 1e8, "same", ""},
        RuleCase{"rss_peak_bytes", 100, 111, "same", "rss_peak_bytes"},
        RuleCase{"gpu_memory.peak_allocated_bytes", 100, 120, "same",
                 "gpu_memory.peak_allocated_bytes"},
        // The slope has an absolute bound, whatever the baseline.
        RuleCase{kSlope, -0.1, -0.1, "same", ""},
        RuleCase{kSlope, -0.1, 0.001, "same", ""},
        RuleCase{kSlope, -0.1, 0.0011, "slower", kSlope},
        RuleCase{kSlope, 0.5, 0.4, "slower", kSlope},
        RuleCase{kSlope, 0, 0, "same", ""},
        // Waiting for data warns from five percentage points on.
        RuleCase{kWait, 0.1, 0.15, "same", ""},
        RuleCase{kWait, 0.1, 0.16, "same", kWait},
        RuleCase{"train.data_wait_share", 0.1, 0.2, "same",
                 "train.data_wait_share"},
        // Perplexity: more than 1.5%.
        RuleCase{kPerplexity, 20, 20.3, "same", ""},
        RuleCase{kPerplexity, 20, 20.31, "slower", kPerplexity},
        RuleCase{kPerplexity, 20, 15, "same", ""},
        // Accuracy: more than two points, absolute.
        RuleCase{kProbe, 70, 68, "same", ""},
        RuleCase{kProbe, 70, 67.9, "slower", kProbe},
        RuleCase{kProbe, 3, 1.1, "same", ""},
        RuleCase{kProbe, 70, 99, "same", ""},
        // Tails count only when asked for.
        RuleCase{"step_time_p90", 0.1, 0.2, "same", ""},
        RuleCase{"step_time_p90", 0.1, 0.2, "slower", "step_time_p90", 0, true},
        RuleCase{"step_time_p90", 0.1, 0.11, "same", "", 0, true},
        RuleCase{"p90_s", 1, 1.2, "slower", "p90_s", 0, true},
        RuleCase{"tokens_per_sec_p10", 100, 80, "slower", "tokens_per_sec_p10",
                 0, true},
        // A breach below a calibrated floor is `cannot_tell`.
        RuleCase{kTokens, 1000, 930, "cannot_tell", "below_floor", 10},
        RuleCase{kTokens, 1000, 890, "slower", kTokens, 10},
        RuleCase{kTokens, 1000, 960, "same", "", 10},
        RuleCase{kStep, 0.1, 0.108, "cannot_tell", "below_floor", 10},
        RuleCase{"throughput", 100, 94, "slower", "throughput", 5},
        // Floors apply to speed only.
        RuleCase{kPerplexity, 20, 21, "slower", kPerplexity, 10},
        RuleCase{kProbe, 70, 60, "slower", kProbe, 50},
        RuleCase{kMemory, 100, 115, "same", kMemory, 50},
        // A baseline of 0 has no percentage.
        RuleCase{kStep, 0, 0, "same", ""},
        RuleCase{kStep, 0, 0.1, "slower", kStep},
        RuleCase{kTokens, 0, 10, "same", ""},
        // Metrics without a rule are ignored.
        RuleCase{"seed", 1, 2, "same", ""},
        RuleCase{"batch_size", 64, 1, "same", ""}));

TEST(JudgeRulesTest, EveryBreachIsNamed) {
  RuleJob job;
  job.baseline = {{"tokens_per_sec_p50", 100},
                  {"perplexity", 10},
                  {"memory_peak_bytes", 100}};
  job.current = {{"tokens_per_sec_p50", 50},
                 {"perplexity", 20},
                 {"memory_peak_bytes", 500}};
  const Verdict verdict = JudgeRules(job, Defaults());
  EXPECT_EQ(verdict.verdict(), "slower");
  EXPECT_EQ(absl::StrJoin(verdict.codes(), ","),
            "perplexity,tokens_per_sec_p50");
  EXPECT_EQ(verdict.checks_size(), 3);
}

// What the clock of the core explains is not held against a job.
TEST(JudgeRulesTest, ASlowerCoreIsNoSlowdown) {
  RuleJob job;
  job.level = 0.01;
  job.baseline = {{"throughput", 100}};
  job.current = {{"throughput", 93}};
  Shift& shift = job.shifts["throughput"];
  shift.log = std::log(0.93);
  shift.error = 0.001;
  shift.df = 8;
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "slower");
  // 3% are left, and 5% are allowed.
  shift.slower_machine = 0.04;
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "cannot_tell");
  job.current = {{"throughput", 88}};
  shift.log = std::log(0.88);
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "slower");
  // Runs among those of the other side count only if the memory is known.
  shift.order = Shift::Order::kUnlikely;
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "cannot_tell");
  shift.knows_memory = true;
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "slower");
  shift.order = Shift::Order::kMixed;
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "cannot_tell");
}

TEST(JudgeRulesTest, LeavingANumberOutDoesNotPass) {
  RuleJob job;
  job.baseline = {{"tokens_per_sec_p50", 100}, {"perplexity", 10}};
  job.current = {{"perplexity", 10}};
  const Verdict verdict = JudgeRules(job, Defaults());
  EXPECT_EQ(verdict.verdict(), "cannot_tell");
  EXPECT_EQ(verdict.codes(0), "missing");
  // New metrics are not an error.
  std::swap(job.baseline, job.current);
  EXPECT_EQ(JudgeRules(job, Defaults()).verdict(), "same");
}

TEST(JudgeRulesTest, NothingInCommonIsInvalid) {
  RuleJob job;
  job.baseline = {{"seed", 1}};
  job.current = {{"seed", 1}};
  const Verdict verdict = JudgeRules(job, Defaults());
  EXPECT_EQ(verdict.verdict(), "invalid");
  EXPECT_EQ(verdict.codes(0), "no_rule");
}

// Custom tolerances: patterns, jobs, bounds, severities.
struct OwnCase {
  const char* tolerances;
  const char* job;
  double baseline;
  double current;
  const char* verdict;
};

class OwnRulesTest : public testing::TestWithParam<OwnCase> {};

TEST_P(OwnRulesTest, Verdict) {
  const OwnCase& c = GetParam();
  RuleOptions options;
  const auto tolerances = ParseTolerances(c.tolerances, "f");
  ASSERT_TRUE(tolerances.ok()) << tolerances.status();
  options.tolerances = *tolerances;
  RuleJob job;
  job.label = c.job;
  job.baseline = {{"loader.startup_s", c.baseline}};
  job.current = {{"loader.startup_s", c.current}};
  EXPECT_EQ(JudgeRules(job, options).verdict(), c.verdict);
}

constexpr char kStartup[] =
    "tolerances { metric: \"loader.startup_s\" better: LOWER percent: 20 }";
constexpr char kAnyLoader[] =
    "tolerances { metric: \"loader.*\" better: LOWER absolute: 1 }";
constexpr char kBounded[] =
    "tolerances { metric: \"*startup_s\" max_value: 5 severity: WARN }";
constexpr char kAtLeast[] =
    "tolerances { metric: \"loader.startup_s\" min_value: 1 }";
constexpr char kPerJob[] =
    "tolerances { metric: \"loader.startup_s\" better: LOWER percent: 20 } "
    "tolerances { metric: \"loader.startup_s\" jobs: \"slow *\" better: LOWER "
    "percent: 100 } "
    "tolerances { metric: \"loader.startup_s\" jobs: \"off\" off: true }";

INSTANTIATE_TEST_SUITE_P(
    All, OwnRulesTest,
    testing::Values(OwnCase{kStartup, "x", 1, 1.2, "same"},
                    OwnCase{kStartup, "x", 1, 1.21, "slower"},
                    OwnCase{kAnyLoader, "x", 1, 2, "same"},
                    OwnCase{kAnyLoader, "x", 1, 2.1, "slower"},
                    OwnCase{kBounded, "x", 1, 5, "same"},
                    OwnCase{kBounded, "x", 1, 6, "same"},
                    OwnCase{kAtLeast, "x", 2, 1, "same"},
                    OwnCase{kAtLeast, "x", 2, 0.5, "slower"},
                    OwnCase{kPerJob, "x", 1, 1.5, "slower"},
                    OwnCase{kPerJob, "slow one", 1, 1.5, "same"},
                    OwnCase{kPerJob, "slow one", 1, 2.5, "slower"},
                    OwnCase{kPerJob, "off", 1, 99, "invalid"}));

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
  const std::vector<Row> rows = Runs({94, 93, 95, 94, 94});
  const Verdict one = Only(rows);
  EXPECT_EQ(one.verdict(), "cannot_tell");
  EXPECT_NE(one.reason().find("store rows of three"), std::string::npos);
  for (const char* run_id : {"second", "third"}) {
    for (int i = 0; i < 5; ++i) {
      baseline.push_back(baseline[i]);
      baseline.back().set_run_id(run_id);
    }
  }
  WriteRows(baseline);
  EXPECT_EQ(Only(rows).verdict(), "slower");
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
    for (const double speed : {100, 107, 93}) {
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
  for (const char* status : {"crashed", "failed", "oom", "timeout"}) {
    const Verdict verdict = Only({MakeRow("j", status, 0)});
    EXPECT_EQ(verdict.verdict(), "invalid");
    EXPECT_EQ(verdict.codes(0), status);
  }
  EXPECT_EQ(Only({MakeRow("j", "unsupported", 0)}).verdict(), "invalid");
  EXPECT_EQ(Only({MakeRow("j", "early_stopped", 1)}).verdict(), "cannot_tell");
  WriteRows({MakeRow("j", "early_stopped", 1)});
  EXPECT_EQ(Only({MakeRow("j", "early_stopped", 1)}).verdict(), "invalid");
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

}  // namespace
}  // namespace feedrate
