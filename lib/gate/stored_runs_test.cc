#include "lib/gate/stored_runs.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/gate/shift.h"

namespace feedrate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

Row Attempt(int run, int attempt, double throughput,
            const std::vector<std::string>& warnings = {},
            const std::string& status = "ok") {
  Row row;
  row.set_job_id("j");
  row.set_library("opencv");
  row.set_library_version("1");
  row.set_run_index(run);
  row.set_attempt(attempt);
  row.set_status(status);
  row.set_throughput(throughput);
  for (const std::string& warning : warnings) row.add_warnings(warning);
  return row;
}

TEST(CleanestAttemptsTest, TheCleanestCountsAndTheLastOfEquals) {
  const RunsByJob by_job = CleanestAttempts(
      {Attempt(0, 0, 1, {"noisy"}), Attempt(0, 2, 3, {"noisy", "contended"}),
       Attempt(0, 1, 2, {"contended"}), Attempt(1, 1, 5), Attempt(1, 0, 4),
       Attempt(2, 0, 6, {"noisy"}), Attempt(2, 1, 0, {}, "crashed"),
       Attempt(3, 0, 0, {}, "crashed"), Attempt(3, 1, 7),
       Attempt(4, 0, 0, {}, "oom"), Attempt(4, 1, 0, {}, "crashed")});
  const JobRuns& job = by_job.at("j");
  ASSERT_EQ(job.runs.size(), 5);
  std::vector<double> throughputs;
  for (const Row& row : job.runs) throughputs.push_back(row.throughput());
  EXPECT_THAT(throughputs, ElementsAre(2, 5, 6, 7, 0));
  EXPECT_EQ(job.runs[4].status(), "crashed");
  EXPECT_THAT(job.not_last,
              ElementsAre("run 0: attempt 1 of 3", "run 2: attempt 0 of 2"));
  EXPECT_EQ(job.Clean().size(), 3);
}

TEST(RunsOfAllExecutionsTest, CleanRunsOfOtherExecutionsCount) {
  const auto of = [](const char* run_id, Row row) {
    row.set_run_id(run_id);
    return row;
  };
  const std::vector<Row> rows = {
      of("a", Attempt(0, 0, 1)), of("b", Attempt(0, 0, 2)),
      of("c", Attempt(0, 0, 3, {"noisy"})),
      of("d", Attempt(0, 0, 0, {}, "crashed")),
      // The first attempt of one execution was replaced by the second.
      of("a", Attempt(1, 0, 4)), of("a", Attempt(1, 1, 5))};
  const RunsByJob runs = RunsOfAllExecutions(rows);
  std::vector<double> throughputs;
  for (const Row& row : runs.at("j").runs) {
    throughputs.push_back(row.throughput());
  }
  EXPECT_THAT(throughputs, ElementsAre(2, 1, 5));
  EXPECT_EQ(CleanestAttempts(rows).at("j").runs.size(), 2);
}

// A core that is slow from start to end marks no run of its own.
TEST(MarkSlowCoresTest, OneSideShowsWhatTheOtherDidNotKnow) {
  const auto with_probe = [](Row row, double probe, double slow_above) {
    row.mutable_core_speed()->set_probe(probe);
    row.mutable_core_speed()->set_slow_above(slow_above);
    return row;
  };
  RunsByJob current = CleanestAttempts(
      {with_probe(Attempt(0, 0, 1), 2, 2.2),
       with_probe(Attempt(1, 0, 1, {"contended"}), 3, 2.2),
       with_probe(Attempt(2, 0, 2), 1.1, 2.2), Attempt(3, 0, 1)});
  RunsByJob baseline =
      CleanestAttempts({with_probe(Attempt(0, 0, 2), 1, 1.15)});
  RunsByJob other = baseline;
  other.at("j").runs[0].set_library_version("2");
  MarkSlowCores(&current, &other);
  EXPECT_EQ(current.at("j").Clean().size(), 3);
  MarkSlowCores(&current, &baseline);
  const std::vector<Row>& runs = current.at("j").runs;
  EXPECT_THAT(runs[0].warnings(), ElementsAre("contended"));
  EXPECT_THAT(runs[1].warnings(), ElementsAre("contended"));
  EXPECT_THAT(runs[2].warnings(), IsEmpty());
  EXPECT_THAT(runs[3].warnings(), IsEmpty());
  EXPECT_EQ(baseline.at("j").Clean().size(), 1);
}

TEST(FindMismatchTest, NamesWhatDiffers) {
  const std::vector<Row> old_rows = {Attempt(0, 0, 1)};
  std::vector<Row> rows = {Attempt(0, 0, 1)};
  EXPECT_FALSE(FindMismatch(rows, old_rows, false).has_value());
  rows[0].set_library_version("2");
  EXPECT_EQ(FindMismatch(rows, old_rows, false)->code, "other_version");
  EXPECT_EQ(FindMismatch(rows, old_rows, false)->reason,
            "the baseline is of opencv 1, the rows of 2");
  EXPECT_FALSE(FindMismatch(rows, old_rows, true).has_value());
  // Old rows may not say.
  rows[0].set_library_version("");
  EXPECT_FALSE(FindMismatch(rows, old_rows, false).has_value());
  // Versions in one file are not mixed.
  rows = {Attempt(0, 0, 1), Attempt(1, 0, 1)};
  rows[1].set_library_version("2");
  EXPECT_EQ(FindMismatch(rows, old_rows, false)->code, "other_version");
}

TEST(FindMismatchTest, OtherDataIsNoOtherMachine) {
  std::vector<Row> old_rows = {Attempt(0, 0, 1)};
  old_rows[0].mutable_dataset()->set_id("photos");
  old_rows[0].mutable_dataset()->set_sha256("aaaa");
  std::vector<Row> rows = old_rows;
  EXPECT_FALSE(FindMismatch(rows, old_rows, false).has_value());
  rows[0].mutable_dataset()->set_sha256("bbbb");
  const auto mismatch = FindMismatch(rows, old_rows, true);
  EXPECT_EQ(mismatch->code, "other_data");
  EXPECT_THAT(mismatch->reason, testing::HasSubstr("SHA-256 aaaa"));
  EXPECT_THAT(mismatch->reason, testing::HasSubstr("SHA-256 bbbb"));
}

TEST(FindMismatchTest, FewerProcessorsAreNoChangeOfTheCode) {
  const std::vector<Row> all = {Attempt(0, 0, 1)};
  std::vector<Row> one = all;
  one[0].set_usable_cpus(1);
  const auto mismatch = FindMismatch(one, all, true);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(mismatch->code, "other_cpus");
  EXPECT_EQ(mismatch->reason,
            "the baseline was measured on all processors, the rows on 1 "
            "processor");
  EXPECT_FALSE(FindMismatch(one, one, false).has_value());
  // A file with both is not a baseline for either.
  const RunsByJob both = RunsOfAllExecutions({all[0], one[0]});
  EXPECT_EQ(both.at("j").runs.size(), 2);
  EXPECT_EQ(FindMismatch(one, both.at("j").runs, true)->code, "other_cpus");
}

TEST(FindMismatchTest, ColdIsNotComparedWithWarm) {
  const std::vector<Row> old_rows = {Attempt(0, 0, 1)};
  std::vector<Row> rows = old_rows;
  rows[0].add_labels("partly_cold");
  EXPECT_FALSE(FindMismatch(rows, old_rows, false).has_value());
  rows[0].set_labels(0, "cold");
  const auto mismatch = FindMismatch(rows, old_rows, true);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(mismatch->code, "other_cache");
  EXPECT_EQ(mismatch->reason,
            "the baseline was measured warm, the rows cold (--cold)");
  EXPECT_FALSE(FindMismatch(rows, rows, false).has_value());
}

TEST(IdentityDifferenceTest, NamesFieldsAndSettings) {
  Row now = Attempt(0, 0, 1);
  Row stored = now;
  EXPECT_EQ(IdentityDifference(now, stored), "");
  now.set_num_items(10);
  stored.set_num_items(64);
  (*now.mutable_settings())["prefetch"] = "4";
  EXPECT_EQ(IdentityDifference(now, stored),
            "num_items 64, not 10; prefetch unset, not 4");
  now = stored;
  now.mutable_dataset()->set_id("a");
  stored.mutable_dataset()->set_id("b");
  EXPECT_EQ(IdentityDifference(now, stored), "data b, not a");
  stored = now;
  stored.set_params_sha256("x");
  EXPECT_EQ(IdentityDifference(now, stored),
            "other parameters of the transform");
}

TEST(DisturbedTextTest, MostRunsMustBeClean) {
  std::vector<std::string> codes;
  JobRuns job;
  job.runs = {Attempt(0, 0, 1), Attempt(1, 0, 1), Attempt(2, 0, 1, {"noisy"})};
  EXPECT_EQ(DisturbedText(job, "the rows", &codes), "");
  EXPECT_THAT(codes, IsEmpty());
  job.runs.push_back(Attempt(3, 0, 1, {"throttled", "migrated"}));
  EXPECT_EQ(DisturbedText(job, "the rows", &codes),
            "2 of 4 runs of the rows are noisy and throttled");
  EXPECT_THAT(codes, ElementsAre("noisy", "throttled"));
  job.runs = {Attempt(0, 0, 1, {"contended"})};
  EXPECT_EQ(DisturbedText(job, "the baseline", &codes),
            "1 of 1 run of the baseline is contended");
}

TEST(ShiftTest, OfRunsIsStudentsTest) {
  const auto shift = ShiftOfRuns({100, 101, 99}, {90, 91, 89});
  ASSERT_TRUE(shift.has_value());
  EXPECT_NEAR(shift->log, std::log(0.9), 1e-4);
  EXPECT_EQ(shift->df, 4);
  // The pooled deviation is 1.06%, times sqrt(2 / 3).
  EXPECT_NEAR(shift->error, 0.00863, 1e-4);
  // t(0.95, 4) = 2.132.
  EXPECT_NEAR(shift->Limit(0.05), 2.132 * shift->error, 1e-5);
  EXPECT_EQ(ShiftOfRuns({100}, {90})->Limit(0.05), 0);
  EXPECT_FALSE(ShiftOfRuns({}, {1, 2}).has_value());
  EXPECT_FALSE(ShiftOfRuns({0, 1}, {1, 2}).has_value());
}

TEST(ShiftTest, TellsHowTheRunsLie) {
  using Order = Shift::Order;
  const auto order = [](const std::vector<double>& before,
                        const std::vector<double>& now) {
    return ShiftOfRuns(before, now)->order;
  };
  EXPECT_EQ(order({100, 101, 99}, {90, 91, 89}), Order::kApart);
  // Two levels: one slow run of the baseline.
  EXPECT_EQ(order({100, 101, 90}, {90, 91, 89}), Order::kMixed);
  EXPECT_EQ(order({90, 91, 89}, {100, 90, 99}), Order::kMixed);
  // One of 60 pairs in the other order, then three.
  std::vector<double> before(12, 100);
  before[0] = 92;
  EXPECT_EQ(order(before, {90, 93, 89, 91, 90}), Order::kApart);
  EXPECT_EQ(order(before, {90, 93, 93, 93, 90}), Order::kMixed);
  // 24 of 240 pairs, where the rank test allows 32; then 36.
  before.assign(24, 100);
  for (int i = 0; i < 4; ++i) before[i] = 92;
  std::vector<double> now(10, 90);
  for (int i = 0; i < 6; ++i) now[i] = 93;
  EXPECT_EQ(order(before, now), Order::kUnlikely);
  for (int i = 6; i < 9; ++i) now[i] = 93;
  EXPECT_EQ(order(before, now), Order::kMixed);
}

TEST(ShiftTest, OfSamplesComparesTheSameItems) {
  Row stored = Attempt(0, 0, 1);
  Row now = stored;
  for (const double seconds : {1.0, 10.0, 100.0, 5.0}) {
    stored.add_samples_s(seconds);
    now.add_samples_s(seconds * 1.1);
  }
  const auto shift = ShiftOfSamples(stored, now);
  ASSERT_TRUE(shift.has_value());
  EXPECT_NEAR(shift->log, -std::log(1.1), 1e-9);
  EXPECT_LT(shift->error, 1e-9);
  // Other counts are other items, so their sizes count as noise.
  now.add_samples_s(2);
  EXPECT_GT(ShiftOfSamples(stored, now)->error, 0.5);
  EXPECT_LT(ShiftOfSamples(stored, now)->df, 8);
  EXPECT_TRUE(ShiftOfSamples(stored, now)->single_runs);
  stored.clear_samples_s();
  EXPECT_FALSE(ShiftOfSamples(stored, now).has_value());
}

TEST(ShiftTest, OfSummariesIsWelchsTest) {
  Row stored = Attempt(0, 0, 1);
  stored.set_throughput(100);
  stored.mutable_summary()->set_count(10);
  stored.mutable_summary()->set_mean_s(0.01);
  stored.mutable_summary()->set_stddev_s(0.0002);
  Row now = stored;
  now.set_throughput(90);
  now.mutable_summary()->set_stddev_s(0.0004);
  const auto shift = ShiftOfSummaries(stored, now);
  ASSERT_TRUE(shift.has_value());
  EXPECT_NEAR(shift->log, std::log(0.9), 1e-9);
  // sqrt((2%^2 + 4%^2) / 10), and 9 * 20^2 / (4^2 + 16^2) degrees of freedom.
  EXPECT_NEAR(shift->error, std::sqrt(0.0002), 1e-9);
  EXPECT_NEAR(shift->df, 9 * 400.0 / 272, 1e-9);
  EXPECT_TRUE(shift->single_runs);
  // Samples of one side stand beside the summary of the other.
  for (const double seconds : {0.01, 0.0102, 0.0098}) {
    now.add_samples_s(seconds);
  }
  EXPECT_NEAR(ShiftOfSummaries(stored, now)->error,
              std::sqrt(0.0004 / 10 + 0.0004 / 3), 1e-9);
  stored.mutable_summary()->clear_stddev_s();
  EXPECT_FALSE(ShiftOfSummaries(stored, now).has_value());
}

Shift Made(double log, double error) {
  Shift shift;
  shift.log = log;
  shift.error = error;
  shift.df = 4;
  return shift;
}

TEST(SuiteNoiseTest, AFewJobsSayNothing) {
  SuiteNoise noise;
  for (int i = 0; i < 9; ++i) noise.Add("throughput", Made(0.3 * i, 0.2));
  const Shift same = noise.Moderate("throughput", Made(0.1, 0.01));
  EXPECT_EQ(same.error, 0.01);
  EXPECT_EQ(same.df, 4);
}

TEST(SuiteNoiseTest, QuietJobsBorrowFromTheOthers) {
  SuiteNoise noise;
  for (int i = 0; i < 20; ++i) noise.Add("throughput", Made(0, 0.02));
  // A job whose runs agree by luck is as noisy as the rest, and better known.
  const Shift lucky = noise.Moderate("throughput", Made(0.1, 0));
  EXPECT_NEAR(lucky.error, 0.02 / std::sqrt(2), 1e-9);
  EXPECT_EQ(lucky.df, 8);
  // A noisier job stays as noisy as it is.
  const Shift noisy = noise.Moderate("throughput", Made(0.1, 0.05));
  EXPECT_EQ(noisy.error, 0.05);
  EXPECT_EQ(noisy.df, 4);
  EXPECT_EQ(noise.Moderate("p90_s", Made(0.1, 0)).error, 0);
}

TEST(SuiteNoiseTest, AMachineThatChangedItsSpeedIsNoise) {
  SuiteNoise scattered;
  SuiteNoise slowed;
  for (int i = 0; i < 21; ++i) {
    scattered.Add("throughput", Made(0.01 * (i - 10), 0.001));
    slowed.Add("throughput", Made(-0.1, 0.001));
  }
  // Half of the shifts are within 0.05 of the median.
  EXPECT_NEAR(scattered.Moderate("throughput", Made(-0.1, 0.001)).error,
              1.4826 * 0.05, 1e-9);
  EXPECT_EQ(scattered.Moderate("throughput", Made(-0.1, 0.001)).df, 7);
  Shift single = Made(-0.1, 0);
  single.df = 0;
  single.single_runs = true;
  EXPECT_EQ(scattered.Moderate("throughput", single).df, 3);
  // A slowdown that all jobs share does not count as scatter.
  EXPECT_NEAR(slowed.Moderate("throughput", Made(-0.1, 0.001)).error, 0.001,
              1e-9);
}

TEST(MetricNamesTest, NumbersAtAnyDepth) {
  for (const char* name :
       {"throughput", "gpu_memory.peak_allocated_bytes", "loader.gpu.busy",
        "train.step_time_p50", "step_time_p50", "perplexity"}) {
    EXPECT_THAT(MetricNames(), Contains(name));
  }
  for (const char* name :
       {"loader.gpu_use", "tokens_per_sec_p90", "library", "samples_s"}) {
    EXPECT_THAT(MetricNames(), Not(Contains(name)));
  }
}

}  // namespace
}  // namespace feedrate
