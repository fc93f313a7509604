#include "lib/measure/measure_run.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/measure/fake_subject.h"
#include "lib/measure/noise.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(MeasureRunTest, TimesEachItemOnce) {
  FakeSubject subject([](int64_t call) { return 0.001 * (call + 1); });
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 4;
  request.per_call_s = 0.001;
  request.seed = 9;
  const auto result = MeasureRun(request, &subject, &noise);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->timing.items, 4);
  EXPECT_THAT(result->timing.samples_s,
              ElementsAre(0.001, 0.002, 0.003, 0.004));
  EXPECT_DOUBLE_EQ(result->elapsed_s, 0.01);
  EXPECT_EQ(subject.requests[0].seed, 9);
}

TEST(MeasureRunTest, ShortCallsComeInChunks) {
  FakeSubject subject([](int64_t) { return 1e-6; });
  subject.clock_s = 80e-9;
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 20;
  request.per_call_s = 1.08e-6;
  const auto result = MeasureRun(request, &subject, &noise);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->chunk, 8);
  EXPECT_EQ(result->timing.samples_s.size(), 3);
  EXPECT_LT(result->elapsed_s / 20e-6, 1.0125);
}

TEST(MeasureRunTest, WarmsTheCachesAgainFirst) {
  FakeSubject subject([](int64_t) { return 0.001; });
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 100;
  request.per_call_s = 0.001;
  request.rewarm_items = 10;
  const auto result = MeasureRun(request, &subject, &noise);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(subject.requests.size(), 2);
  EXPECT_EQ(subject.requests[0].count, 10);
  EXPECT_EQ(result->timing.items, 100);
}

TEST(MeasureRunTest, NoiseBetweenTheCountsIsNamed) {
  FakeSubject subject([](int64_t) { return 0.01; });
  subject.counts.resize(2);
  subject.counts[0].process.run_delay_s = 0;
  subject.counts[1].process.run_delay_s = 0.5;
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 100;
  request.per_call_s = 0.01;
  const auto result = MeasureRun(request, &subject, &noise);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->warnings, ElementsAre("contended", "noisy"));
}

TEST(MeasureRunTest, AHangIsJudgedByWhatWasPredicted) {
  FakeSubject subject([](int64_t) { return 0.0; });
  subject.error = absl::DeadlineExceededError("hang");
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 1000;
  request.per_call_s = 0.02;
  request.hang_s = 30;
  EXPECT_EQ(MeasureRun(request, &subject, &noise).status(), subject.error);
  EXPECT_DOUBLE_EQ(subject.requests[0].hang_s, 230);
}

}  // namespace
}  // namespace feedrate
