// Machines with the noise that others have published, as seeded generators.
// Time passes while jobs run, so what depends on it (drift, neighbors, heat,
// turbo) meets whatever runs at that moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/xoshiro.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// docs/compare_baseline.md describes each.
enum class PublishedNoise {
  kNone,
  kTwoSpeeds,
  kMachines,
  kDay,
  kNeighbors,
  kGpuNeighbor,
  kLayout,
  kThrottling,
  kTurbo,
  kWarmUp,
  kCollector,
  kColdCache,
  kAddresses,
  // All of them, each half as strong.
  kAll,
};
inline constexpr int kPublishedNoises = 14;
std::string PublishedNoiseName(PublishedNoise noise);

inline constexpr double kDayS = 86400;

// What a job is like on every machine.
struct ReplayedJob {
  double sample_s = 0.1;
  // Standard deviation of samples, as a logarithm.
  double deviation = 0.01;
  // How much of a copy's speed it reaches.
  double of_limit = 0.5;
};
std::vector<ReplayedJob> DrawJobs(int jobs, Xoshiro256* random);

// One machine in use, such as that of one CI job.
class ReplayedMachine {
 public:
  // `jobs` must outlive it. It starts cool and idle, at this second of a day.
  ReplayedMachine(PublishedNoise noise, const std::vector<ReplayedJob>* jobs,
                  double second, uint64_t seed);

  // The next execution of the program, some seconds later.
  void StartProcess();
  // A run of a job: its samples, its throughput, and what a runner sees of the
  // machine. The code takes exp(`slowdown`) times as long.
  void Run(int job, double slowdown, int samples, Row* row);

 private:
  // Of one execution and job.
  struct ProcessJob {
    double level = 0;
    double warm_up = 0;
    int samples = 0;
    int runs = 0;
  };

  // How strong a kind of noise is here: 0, 0.5 or 1.
  double Strength(PublishedNoise noise) const;
  // The share of the machine that neighbors take now.
  double NeighborLoad();
  // How much slower the clock is now, as a logarithm, after `busy_s` of work.
  double Clock(double busy_s);

  const PublishedNoise noise_;
  const std::vector<ReplayedJob>& jobs_;
  Xoshiro256 random_;
  double now_s_;
  // Seconds of work since the machine was idle for long.
  double hot_s_ = 0;
  double turbo_s_ = 10;
  double offset_ = 0;
  double day_phase_ = 0;
  double walk_ = 0;
  double throttles_after_s_ = 0;
  bool shares_speed_ = false;
  double neighbor_from_s_ = 0;
  double neighbor_to_s_ = 0;
  double neighbor_load_ = 0;
  bool is_first_process_ = true;
  std::vector<ProcessJob> process_;
};

}  // namespace feedrate
