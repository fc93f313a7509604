// Measures how well change points are found in simulated histories.
//
//   bazel run //lib/gate/simulation:simulate_history -- 5000 2
//
// Arguments: number of histories per kind, and the seed. Each history has 100
// commits and a step of 5% at a random commit, at least ten from either end.
// Prints the table of docs/compare_baseline.md and exits with 3 when a promise
// is not kept.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lib/base/xoshiro.h"
#include "lib/stats/change_points.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

constexpr int kCommits = 100;
constexpr int kMargin = 10;
constexpr double kCv = 0.02;
constexpr int kSpikeRange = 28;

// The runs of one commit, combined as in RunHistory.
double Commit(int runs, double shift, Xoshiro256* random) {
  std::vector<double> logs;
  for (int i = 0; i < runs; ++i) {
    logs.push_back(shift + kCv * random->Normal());
  }
  return TrimmedMean(absl::MakeSpan(logs));
}

// Where least squares puts the step, knowing that there is one: hardly any
// method can do better.
int BestPossible(const std::vector<double>& values) {
  int best = 0;
  double most = -1;
  double total = 0;
  for (const double v : values) total += v;
  double left = 0;
  const int n = static_cast<int>(values.size());
  for (int split = 1; split < n; ++split) {
    left += values[split - 1];
    const double gap = left / split - (total - left) / (n - split);
    const double gain = gap * gap * split * (n - split);
    if (gain > most) {
      most = gain;
      best = split;
    }
  }
  return best;
}

struct Tally {
  int found = 0;
  int within_one = 0;
  int best_within_one = 0;
  int extra = 0;
};

Tally Steps(int runs, int histories, Xoshiro256* random) {
  Tally tally;
  for (int h = 0; h < histories; ++h) {
    const int at =
        kMargin + static_cast<int>(random->Below(kCommits - 2 * kMargin));
    const double step = std::log(1.05) * (random->Coin() ? 1 : -1);
    std::vector<double> values;
    for (int i = 0; i < kCommits; ++i) {
      values.push_back(Commit(runs, i >= at ? step : 0, random));
    }
    bool found = false;
    bool within_one = false;
    for (const Step& one : FindSteps(values)) {
      const int off = std::abs(static_cast<int>(one.index) - at);
      const bool is_it = off <= 5 && one.shift * step > 0;
      found |= is_it;
      within_one |= is_it && off <= 1;
      tally.extra += !is_it;
    }
    tally.found += found;
    tally.within_one += within_one;
    tally.best_within_one += std::abs(BestPossible(values) - at) <= 1;
  }
  return tally;
}

struct AlarmTally {
  // Histories without a step in which one was reported.
  int histories = 0;
  // Steps reported at a spike or next to it.
  int at_spikes = 0;
};

AlarmTally Alarms(int runs, int histories, int spikes, Xoshiro256* random) {
  AlarmTally alarms;
  for (int h = 0; h < histories; ++h) {
    std::vector<double> values;
    std::vector<size_t> places;
    for (int i = 0; i < kCommits; ++i) {
      values.push_back(Commit(runs, 0, random));
    }
    for (int i = 0; i < spikes; ++i) {
      // Spread out: three in a row would be a change for three days, not
      // spikes.
      const size_t at = i * kCommits / spikes + random->Below(kSpikeRange);
      values[at] += 0.05 + 0.5 * random->Uniform();
      places.push_back(at);
    }
    const std::vector<Step> steps = FindSteps(values);
    alarms.histories += !steps.empty();
    for (const Step& step : steps) {
      for (const size_t at : places) {
        alarms.at_spikes += step.index == at || step.index == at + 1;
      }
    }
  }
  return alarms;
}

int Main(int argc, char** argv) {
  const int histories = argc > 1 ? std::atoi(argv[1]) : 2000;
  Xoshiro256 random(argc > 2 ? std::atoll(argv[2]) : 2);
  bool kept = true;
  std::printf(
      "| runs a commit | steps found %% | within one commit %% | best possible "
      "%% | other steps | clean histories with one | with 3 spikes | spikes "
      "reported |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const int runs : {1, 3, 5}) {
    const Tally t = Steps(runs, histories, &random);
    const AlarmTally clean = Alarms(runs, histories, 0, &random);
    const AlarmTally spiky = Alarms(runs, histories, 3, &random);
    const double all = histories;
    std::printf(
        "| %d | %.2f | %.2f | %.2f | %d | %d of %d | %d of %d | %d of %d |\n",
        runs, 100 * t.found / all, 100 * t.within_one / all,
        100 * t.best_within_one / all, t.extra, clean.histories, histories,
        spiky.histories, histories, spiky.at_spikes, 3 * histories);
    kept &= t.found >= 0.98 * all;
    if (runs >= 3) kept &= t.within_one >= 0.98 * all;
    kept &= clean.histories <= 0.01 * all && spiky.at_spikes <= 0.001 * 3 * all;
  }
  std::printf(
      "\n%s: at least 98%% of steps found, from 3 runs a commit on "
      "within one commit; at most 1 spike in 1000 is reported\n",
      kept ? "kept" : "BROKEN");
  return kept ? 0 : 3;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) { return feedrate::Main(argc, argv); }
