// Replays pull requests on machines with published noise: what the judges of
// duels and of stored baselines say about them, and the same measurements for
// other judges.
#pragma once

#include <cstdint>
#include <string>

#include "lib/gate/simulation/replayed_machine.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

struct ReplayedPull {
  PublishedNoise noise = PublishedNoise::kNone;
  int jobs = 5;
  // How much longer every job takes with the change, in percent.
  double slowdown_percent = 0;
  uint64_t seed = 1;
};

// The verdict on the suite of a duel. Both sides run on one machine; five
// samples per run, after a warm-up of ten.
Verdict ReplayDuel(const ReplayedPull& pull, int max_pairs);

// Executions of the stored baseline, one per night, and of the change, one
// after the other; five runs each. The tolerance is half of what shall be
// found.
inline constexpr int kReplayedNights = 8;
inline constexpr int kReplayedExecutions = 8;
inline constexpr double kReplayedTolerancePercent = 2.5;

struct StoredReplay {
  Verdict suite;
  // For other judges, fields in JSON: by job, the median seconds of each
  // execution of both sides ("stored", "now"), and the samples of the last
  // night ("last"), of the first execution now ("new"), and of both programs
  // one after the other on one machine ("a", "b"). Empty unless asked for.
  std::string series;
};
StoredReplay ReplayStored(const ReplayedPull& pull, bool with_series);

// Executions of one day, each on another machine of the kind, and then one on
// yet another machine on another day.
struct ElsewhereReplay {
  // Medians of the last one, by job.
  int64_t medians = 0;
  // Those in the interval of the median of the first day's runs, and those in
  // what FindElsewhere says.
  int64_t in_interval = 0;
  int64_t in_elsewhere = 0;
  // The mean width of the latter, as a logarithm.
  double width = 0;
};
ElsewhereReplay ReplayElsewhere(const ReplayedPull& pull);

}  // namespace feedrate
