#include "lib/stats/machine_scaling.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

std::vector<LogSpeed> Exact(const std::vector<double>& logs) {
  std::vector<LogSpeed> speeds;
  for (const double log : logs) speeds.push_back({log, 0});
  return speeds;
}

TEST(LogSpeedOfTest, MeanAndError) {
  const LogSpeed speed = LogSpeedOf({std::exp(1.0), std::exp(3.0)}, 0.1);
  EXPECT_NEAR(speed.log, 2, 1e-12);
  EXPECT_NEAR(speed.error, 1, 1e-12);
  EXPECT_EQ(LogSpeedOf({7}, 0.1).error, 0.1);
}

TEST(PredictSpeedTest, FollowsReferencesThatAgree) {
  const LogSpeed predicted = PredictSpeed({{Exact({0, 0, 0}), {5, 0.01}}},
                                          Exact({0.7, 0.7, 0.7}), 0.02);
  EXPECT_NEAR(predicted.log, 5.7, 1e-9);
  // The machines' own effects, and the baseline's error.
  EXPECT_NEAR(predicted.error, std::sqrt(2 * 0.02 * 0.02 + 0.0001), 1e-6);
}

TEST(PredictSpeedTest, DisagreementIsUncertainty) {
  const LogSpeed predicted =
      PredictSpeed({{Exact({0, 0}), {5, 0}}}, Exact({0.4, 0}), 0);
  EXPECT_NEAR(predicted.log, 5.2, 1e-9);
  // Both are as likely as any mixture: 5.0 and 5.4 are within two errors.
  EXPECT_GT(predicted.error, 0.1);
  EXPECT_LT(predicted.error, 0.2);
}

TEST(PredictSpeedTest, ErrorsOfReferencesCount) {
  std::vector<LogSpeed> noisy = Exact({0, 0});
  noisy[0].error = 0.2;
  EXPECT_NEAR(PredictSpeed({{noisy, {5, 0}}}, Exact({0, 0}), 0).error, 0.1,
              1e-5);
}

TEST(PredictSpeedTest, SeveralMachinesTellTheWeights) {
  // The job follows the first reference alone.
  const std::vector<KnownSpeed> known = {{Exact({0, 0}), {5, 0}},
                                         {Exact({0.4, 0}), {5.4, 0}},
                                         {Exact({0, 0.4}), {5, 0}}};
  const LogSpeed predicted = PredictSpeed(known, Exact({0.3, -0.3}), 0.01);
  EXPECT_NEAR(predicted.log, 5.3, 0.03);
  EXPECT_LT(predicted.error,
            PredictSpeed({known[0]}, Exact({0.3, -0.3}), 0.01).error / 3);
}

TEST(ScaleSuiteTest, LearnsTheScatterAndTakesOutTheCommonShift) {
  std::vector<ScaledJob> jobs(20);
  for (int i = 0; i < 20; ++i) {
    jobs[i].predicted = {1, 0.5};
    jobs[i].measured = {1.2 + 0.01 * (i % 3 - 1), 0.001};
  }
  const absl::optional<double> common = ScaleSuite(0.01, &jobs);
  ASSERT_TRUE(common);
  EXPECT_NEAR(*common, 0.2, 1e-9);
  EXPECT_NEAR(jobs[0].shift, -0.01, 1e-9);
  // Far less than what was assumed.
  EXPECT_LT(jobs[0].error, 0.03);
  EXPECT_GE(jobs[0].error, 0.001);
  EXPECT_GT(jobs[0].limit, 3 * jobs[0].error);
  // A job that is odd in the other direction makes it careful.
  jobs[7].measured.log = 1.7;
  const double before = jobs[0].limit;
  ScaleSuite(0.01, &jobs);
  EXPECT_NEAR(jobs[0].limit / jobs[0].error, 3 * jobs[7].shift / jobs[7].error,
              1e-9);
  EXPECT_GT(jobs[0].limit, 2 * before);
}

TEST(ScaleSuiteTest, AFewJobsTellNothing) {
  std::vector<ScaledJob> jobs(9);
  for (ScaledJob& job : jobs) {
    job.predicted = {1, 0.3};
    job.measured = {1.2, 0.4};
  }
  EXPECT_FALSE(ScaleSuite(0.01, &jobs));
  EXPECT_NEAR(jobs[0].shift, 0.2, 1e-9);
  EXPECT_NEAR(jobs[0].error, 0.5, 1e-9);
  EXPECT_GT(jobs[0].limit, 5 * 0.5);
}

}  // namespace
}  // namespace feedrate
