#include "lib/gate/simulation/replayed_machine.h"

#include <algorithm>
#include <cmath>

namespace feedrate {
namespace {

constexpr double kPi = 3.14159265358979;
// What differs between executions and runs of any program.
constexpr double kExecution = 0.003;
constexpr double kRun = 0.002;
// A process starts so long after the one before.
constexpr double kStartS = 2;

// Harnesses warm up before they measure.
constexpr int kWarmUpSamples = 10;

constexpr double kTwoSpeeds = 0.08;
constexpr double kMachines = 0.05;
// The part of a machine's offset that its clock does not show.
constexpr double kHiddenOffset = 0.005;
constexpr double kDay = 0.05;
// The standard deviation of a random walk after an hour.
constexpr double kWalkPerHour = 0.01;
constexpr double kLayout = 0.1;
constexpr double kThrottling = 0.15;
constexpr double kTurbo = 0.08;
constexpr double kTurboS = 10;
constexpr double kAddresses = 0.03;
// Beyond this share a runner's probe sees a neighbor.
constexpr double kSeenLoad = 0.15;

}  // namespace

std::string PublishedNoiseName(PublishedNoise noise) {
  switch (noise) {
    case PublishedNoise::kNone:
      return "a quiet machine";
    case PublishedNoise::kTwoSpeeds:
      return "two speeds";
    case PublishedNoise::kMachines:
      return "other machines";
    case PublishedNoise::kDay:
      return "drift over a day";
    case PublishedNoise::kNeighbors:
      return "neighbors";
    case PublishedNoise::kGpuNeighbor:
      return "neighbor on the GPU";
    case PublishedNoise::kLayout:
      return "layout";
    case PublishedNoise::kThrottling:
      return "throttling";
    case PublishedNoise::kTurbo:
      return "turbo";
    case PublishedNoise::kWarmUp:
      return "JIT warm-up";
    case PublishedNoise::kCollector:
      return "garbage collector";
    case PublishedNoise::kColdCache:
      return "cold page cache";
    case PublishedNoise::kAddresses:
      return "ASLR";
    case PublishedNoise::kAll:
      break;
  }
  return "all, half as strong";
}

std::vector<ReplayedJob> DrawJobs(int jobs, Xoshiro256* random) {
  std::vector<ReplayedJob> drawn(jobs);
  for (ReplayedJob& job : drawn) {
    // Evenly in logarithms: 5 to 200 ms, 0.3% to 2%.
    job.sample_s = 0.005 * std::pow(40.0, random->Uniform());
    job.deviation = 0.003 * std::pow(7.0, random->Uniform());
    job.of_limit = 0.1 + 0.8 * random->Uniform();
  }
  return drawn;
}

ReplayedMachine::ReplayedMachine(PublishedNoise noise,
                                 const std::vector<ReplayedJob>* jobs,
                                 double second, uint64_t seed)
    : noise_(noise), jobs_(*jobs), random_(seed), now_s_(second) {
  offset_ = kMachines * random_.Normal();
  day_phase_ = 2 * kPi * random_.Uniform();
  throttles_after_s_ = 120 + 180 * random_.Uniform();
  shares_speed_ = random_.Coin();
  neighbor_to_s_ = now_s_;
}

double ReplayedMachine::Strength(PublishedNoise noise) const {
  if (noise_ == noise) return 1;
  return noise_ == PublishedNoise::kAll ? 0.5 : 0;
}

void ReplayedMachine::StartProcess() {
  now_s_ += kStartS;
  turbo_s_ = std::min(kTurboS, turbo_s_ + kStartS / 2);
  process_.assign(jobs_.size(), ProcessJob());
  const bool shared_slow = random_.Uniform() < 0.3;
  for (ProcessJob& job : process_) {
    job.level = kExecution * random_.Normal();
    const bool is_slow = shares_speed_ ? shared_slow : random_.Uniform() < 0.3;
    if (is_slow) {
      job.level += kTwoSpeeds * Strength(PublishedNoise::kTwoSpeeds);
    }
    // Half of the layouts of the stack and the environment do not matter.
    if (random_.Coin()) {
      job.level +=
          kLayout * random_.Uniform() * Strength(PublishedNoise::kLayout);
    }
    // Where the heap lies: rarely much worse.
    if (random_.Uniform() < 0.3) {
      job.level += kAddresses * random_.Exponential() *
                   Strength(PublishedNoise::kAddresses);
    }
    // The first samples are interpreted, and in one process of ten the compiler
    // ends with code that is 5% slower.
    const double jit = Strength(PublishedNoise::kWarmUp);
    job.warm_up = jit * random_.Uniform();
    job.samples = kWarmUpSamples;
    if (random_.Uniform() < 0.1) job.level += 0.05 * jit;
  }
  is_first_process_ = false;
}

double ReplayedMachine::NeighborLoad() {
  while (now_s_ > neighbor_to_s_) {
    neighbor_from_s_ = neighbor_to_s_ + 60 * random_.Exponential();
    neighbor_to_s_ = neighbor_from_s_ + 20 * random_.Exponential();
    neighbor_load_ = 0.05 + 0.45 * random_.Uniform();
  }
  return now_s_ >= neighbor_from_s_ ? neighbor_load_ : 0;
}

double ReplayedMachine::Clock(double busy_s) {
  walk_ += kWalkPerHour * std::sqrt(busy_s / 3600) * random_.Normal();
  turbo_s_ = std::max(0.0, turbo_s_ - busy_s);
  const double heat =
      std::min(1.0, std::max(0.0, (hot_s_ - throttles_after_s_) / 30));
  return Strength(PublishedNoise::kMachines) * offset_ -
         Strength(PublishedNoise::kTurbo) * (turbo_s_ > 0 ? kTurbo : 0) +
         Strength(PublishedNoise::kThrottling) * kThrottling * heat;
}

void ReplayedMachine::Run(int job, double slowdown, int samples, Row* row) {
  const ReplayedJob& nature = jobs_[job];
  ProcessJob& process = process_[job];
  const double run = kRun * random_.Normal() +
                     kHiddenOffset * Strength(PublishedNoise::kMachines) *
                         std::sin(1e4 * offset_ + job);
  double clock = 0;
  double load = 0;
  double elapsed_s = 0;
  row->mutable_samples_s()->Clear();
  for (int i = 0; i < samples; ++i) {
    clock = Clock(nature.sample_s);
    // The tool sees no more of a GPU than the times.
    load = Strength(PublishedNoise::kNeighbors) * NeighborLoad();
    const double day =
        Strength(PublishedNoise::kDay) *
        (kDay * std::sin(2 * kPi * now_s_ / kDayS + day_phase_) + walk_);
    double log = slowdown + process.level + run + clock + day +
                 nature.deviation * random_.Normal() +
                 load * (0.3 + 0.7 * nature.of_limit);
    const double gpu = Strength(PublishedNoise::kGpuNeighbor);
    // Frames of somebody else's animation, while one is shown.
    if (gpu > 0 && NeighborLoad() > 0 && random_.Coin()) {
      log += gpu * std::log1p(0.1 + 0.6 * neighbor_load_);
    }
    log += process.warm_up * std::exp(-process.samples / 3.0);
    if (random_.Uniform() < 0.1 * Strength(PublishedNoise::kCollector)) {
      log += 0.1 + 0.6 * random_.Uniform();
    }
    const double cold = Strength(PublishedNoise::kColdCache);
    const bool is_cold = process.runs == 0 && i == 0 ? random_.Uniform() < 0.3
                                                     : random_.Uniform() < 0.01;
    if (cold > 0 && is_cold) log += cold * (0.4 + random_.Uniform());
    const double sample_s = nature.sample_s * std::exp(log);
    row->add_samples_s(sample_s);
    elapsed_s += sample_s;
    now_s_ += sample_s;
    hot_s_ += sample_s;
    ++process.samples;
  }
  ++process.runs;
  row->set_items(samples);
  row->set_elapsed_s(elapsed_s);
  row->set_throughput(samples / elapsed_s);
  row->set_of_limit(nature.of_limit);
  CoreSpeed* const speed = row->mutable_core_speed();
  speed->set_chain_s(1e-6 * std::exp(clock + 0.003 * random_.Normal()));
  speed->set_probe(1.5 * (1 + load) * std::exp(0.01 * random_.Normal()));
  speed->set_slow_above(1.5 * (1 + kSeenLoad));
  speed->set_copy_bytes_per_s(1e10 * std::exp(0.01 * random_.Normal() - load));
  row->clear_warnings();
  if (speed->probe() > speed->slow_above()) row->add_warnings("contended");
}

}  // namespace feedrate
