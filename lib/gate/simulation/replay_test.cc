#include "lib/gate/simulation/replay.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/stats/paired_design.h"

namespace feedrate {
namespace {

ReplayedPull PullWith(int noise, double slowdown_percent) {
  ReplayedPull pull;
  pull.noise = static_cast<PublishedNoise>(noise);
  pull.jobs = 5;
  pull.slowdown_percent = slowdown_percent;
  pull.seed = 7 + static_cast<uint64_t>(noise);
  return pull;
}

// docs/compare_baseline.md has the whole table.
TEST(ReplayTest, NothingIsSlowerWithoutAChange) {
  for (int noise = 0; noise < kPublishedNoises; ++noise) {
    const ReplayedPull pull = PullWith(noise, 0);
    EXPECT_EQ(ReplayDuel(pull, kMaxPairs).counts().slower(), 0)
        << PublishedNoiseName(pull.noise);
    EXPECT_EQ(ReplayStored(pull, false).suite.counts().slower(), 0)
        << PublishedNoiseName(pull.noise);
  }
}

TEST(ReplayTest, SlowChangesAreFoundWhereTheNoiseAllowsIt) {
  for (const PublishedNoise noise :
       {PublishedNoise::kNone, PublishedNoise::kMachines, PublishedNoise::kDay,
        PublishedNoise::kTurbo, PublishedNoise::kThrottling}) {
    EXPECT_EQ(
        ReplayDuel(PullWith(static_cast<int>(noise), 4), kMaxPairs).exit_code(),
        3)
        << PublishedNoiseName(noise);
  }
  EXPECT_EQ(ReplayStored(PullWith(0, 5), false).suite.exit_code(), 3);
}

TEST(ReplayTest, MediansOfAnotherDayLieElsewhere) {
  ElsewhereReplay all;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    ReplayedPull pull;
    pull.jobs = 50;
    pull.seed = seed;
    const ElsewhereReplay one = ReplayElsewhere(pull);
    all.medians += one.medians;
    all.in_interval += one.in_interval;
    all.in_elsewhere += one.in_elsewhere;
  }
  EXPECT_NEAR(static_cast<double>(all.in_elsewhere) / all.medians, 0.95, 0.03);
  // The interval of today's median does not speak about another day.
  EXPECT_LT(all.in_interval, all.medians / 2);
}

// Each kind of noise is there: it makes the runs of a job scatter more than on
// a quiet machine.
TEST(ReplayTest, EachNoiseDisturbs) {
  const auto scatter = [](PublishedNoise noise) {
    Xoshiro256 random(3);
    std::vector<ReplayedJob> jobs = DrawJobs(5, &random);
    jobs[0].sample_s = 0.2;  // Long enough for heat and turbo.
    double squares = 0;
    double sum = 0;
    int count = 0;
    for (int machine = 0; machine < 20; ++machine) {
      ReplayedMachine replayed(noise, &jobs, 3600.0 * machine, 10 + machine);
      for (int execution = 0; execution < 20; ++execution) {
        replayed.StartProcess();
        Row row;
        replayed.Run(0, 0, 100, &row);
        const double log = std::log(row.throughput());
        squares += log * log;
        sum += log;
        ++count;
      }
    }
    return std::sqrt(squares / count - sum / count * sum / count);
  };
  const double quiet = scatter(PublishedNoise::kNone);
  for (int noise = 1; noise < kPublishedNoises; ++noise) {
    EXPECT_GT(scatter(static_cast<PublishedNoise>(noise)), 1.5 * quiet)
        << PublishedNoiseName(static_cast<PublishedNoise>(noise));
  }
}

}  // namespace
}  // namespace feedrate
