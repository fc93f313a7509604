#include "lib/gate/judge_rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "lib/gate/tolerances.h"

namespace feedrate {
namespace {

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
  job.words = "metrics";
  job.machine_profile = "m";
  job.baseline[c.metric] = c.baseline;
  job.current[c.metric] = c.current;
  // Something else that is fine, so that there is always a rule.
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
        // The slope is held against a bound, whatever the baseline.
        RuleCase{kSlope, -0.1, -0.1, "same", ""},
        RuleCase{kSlope, -0.1, 0.001, "same", ""},
        RuleCase{kSlope, -0.1, 0.0011, "slower", kSlope},
        RuleCase{kSlope, 0.5, 0.4, "slower", kSlope},
        RuleCase{kSlope, 0, 0, "same", ""},
        // Waiting for data warns from five points on.
        RuleCase{kWait, 0.1, 0.15, "same", ""},
        RuleCase{kWait, 0.1, 0.16, "same", kWait},
        RuleCase{"loader.data_wait_share", 0.1, 0.2, "same",
                 "loader.data_wait_share"},
        // Perplexity: more than 1.5%.
        RuleCase{kPerplexity, 20, 20.3, "same", ""},
        RuleCase{kPerplexity, 20, 20.31, "slower", kPerplexity},
        RuleCase{kPerplexity, 20, 15, "same", ""},
        // Accuracy: more than two points, absolute.
        RuleCase{kProbe, 70, 68, "same", ""},
        RuleCase{kProbe, 70, 67.9, "slower", kProbe},
        RuleCase{kProbe, 3, 1.1, "same", ""},
        RuleCase{kProbe, 70, 99, "same", ""},
        // Tails only when asked for.
        RuleCase{"step_time_p90", 0.1, 0.2, "same", ""},
        RuleCase{"step_time_p90", 0.1, 0.2, "slower", "step_time_p90", 0, true},
        RuleCase{"step_time_p90", 0.1, 0.11, "same", "", 0, true},
        RuleCase{"p90_s", 1, 1.2, "slower", "p90_s", 0, true},
        RuleCase{"tokens_per_sec_p90", 100, 80, "slower", "tokens_per_sec_p90",
                 0, true},
        // A breach below a calibrated floor cannot be told.
        RuleCase{kTokens, 1000, 930, "cannot_tell", "below_floor", 10},
        RuleCase{kTokens, 1000, 890, "slower", kTokens, 10},
        RuleCase{kTokens, 1000, 960, "same", "", 10},
        RuleCase{kStep, 0.1, 0.108, "cannot_tell", "below_floor", 10},
        RuleCase{"throughput", 100, 94, "slower", "throughput", 5},
        // Floors are about speed alone.
        RuleCase{kPerplexity, 20, 21, "slower", kPerplexity, 10},
        RuleCase{kProbe, 70, 60, "slower", kProbe, 50},
        RuleCase{kMemory, 100, 115, "same", kMemory, 50},
        // A baseline of nothing has no percentage.
        RuleCase{kStep, 0, 0, "same", ""},
        RuleCase{kStep, 0, 0.1, "slower", kStep},
        RuleCase{kTokens, 0, 10, "same", ""},
        // No rule, no opinion.
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

TEST(JudgeRulesTest, LeavingANumberOutDoesNotPass) {
  RuleJob job;
  job.baseline = {{"tokens_per_sec_p50", 100}, {"perplexity", 10}};
  job.current = {{"perplexity", 10}};
  const Verdict verdict = JudgeRules(job, Defaults());
  EXPECT_EQ(verdict.verdict(), "cannot_tell");
  EXPECT_EQ(verdict.codes(0), "missing");
  // What is only new is no fault.
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

// Own tolerances: patterns, jobs, bounds, severities.
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
  job.words = c.job;
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
