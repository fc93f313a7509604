#include "lib/gate/verdict/rule_verdicts.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "lib/gate/verdict/verdicts.h"

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

}  // namespace
}  // namespace feedrate
