// Measures how often bisection finds the right commit in simulated histories,
// and with how many runs.
//
//   bazel run //lib/gate/simulation:simulate_bisect -- 1000 2
//
// Arguments: number of histories per line, and the seed. Each history has 200
// commits. Prints the table of docs/duel.md and exits with 3 when a promise is
// not kept.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "lib/base/xoshiro.h"
#include "lib/stats/bisection.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

constexpr int kCommits = 200;

struct Noise {
  const char* name;
  double cv;
  // Every run is this much slower or faster than the one before.
  double drift;
  // Chance that a run is disturbed: 10 to 60% slower.
  double disturbed;
};

constexpr Noise kNoises[] = {{"2%", 0.02, 0, 0},
                             {"2%, drift 0.5% per run", 0.02, 0.005, 0},
                             {"2%, 1 run in 30 disturbed", 0.02, 0, 1 / 30.0}};

// One history: `step` from commit `at` on.
class Machine {
 public:
  Machine(const Noise& noise, double step_percent, Xoshiro256* random)
      : noise_(noise),
        step_(std::log1p(step_percent / 100)),
        at_(1 + static_cast<int>(random->Below(kCommits))),
        random_(*random) {}

  double Run(int commit) {
    ++runs_;
    level_ += noise_.drift * random_.Normal();
    double log = level_ + noise_.cv * random_.Normal();
    if (random_.Uniform() < noise_.disturbed) {
      log += std::log1p(0.1 + 0.5 * random_.Uniform());
    }
    return log + (commit >= at_ ? step_ : 0);
  }

  double MedianOf(int runs, int commit) {
    std::vector<double> logs;
    for (int i = 0; i < runs; ++i) logs.push_back(Run(commit));
    return Median(logs);
  }

  bool Coin() { return random_.Coin(); }
  int at() const { return at_; }
  int64_t runs() const { return runs_; }

 private:
  const Noise& noise_;
  const double step_;
  const int at_;
  Xoshiro256& random_;
  double level_ = 0;
  int64_t runs_ = 0;
};

struct Tally {
  int64_t right = 0;
  int64_t wrong = 0;
  int64_t runs = 0;
  int64_t builds = 0;
};

// Bisection that believes each measurement: slower than half way between good
// and bad is bad.
void Plain(int runs, Machine* machine, Tally* tally) {
  const double limit =
      (machine->MedianOf(runs, 0) + machine->MedianOf(runs, kCommits)) / 2;
  int good = 0;
  int bad = kCommits;
  tally->builds += 2;
  while (bad - good > 1) {
    const int middle = (good + bad) / 2;
    ++tally->builds;
    (machine->MedianOf(runs, middle) > limit ? bad : good) = middle;
  }
  ++(bad == machine->at() ? tally->right : tally->wrong);
  tally->runs += machine->runs();
}

void Aware(Machine* machine, bool has_step, Tally* tally) {
  BisectionOptions options;
  options.commits = kCommits;
  BisectionSearch search(options);
  std::vector<bool> built(kCommits + 1, false);
  while (search.state() == BisectionSearch::State::kSearching) {
    const int commit = search.next();
    built[commit] = true;
    double good = 0;
    double other = 0;
    const bool good_first = machine->Coin();
    if (good_first) good = machine->Run(0);
    other = machine->Run(commit);
    if (!good_first) good = machine->Run(0);
    search.Add(commit, other - good);
  }
  const bool found = search.state() == BisectionSearch::State::kFound;
  if (found) {
    const bool is_right = has_step && search.answer().last == machine->at();
    ++(is_right ? tally->right : tally->wrong);
  }
  tally->runs += machine->runs();
  tally->builds += 1 + std::count(built.begin(), built.end(), true);
}

int Main(int argc, char** argv) {
  const int histories = argc > 1 ? std::atoi(argv[1]) : 1000;
  Xoshiro256 random(argc > 2 ? std::atoll(argv[2]) : 2);
  bool kept = true;
  std::printf(
      "| noise | step | method | right | wrong | cannot tell | runs | builds "
      "|\n|---|---|---|---|---|---|---|---|\n");
  const auto line = [&](const Noise& noise, double step, const char* method,
                        const std::function<void(Machine*, Tally*)>& search) {
    Tally tally;
    for (int i = 0; i < histories; ++i) {
      Machine machine(noise, step, &random);
      search(&machine, &tally);
    }
    const double all = histories;
    std::printf("| %s | %g%% | %s | %.1f%% | %.1f%% | %.1f%% | %.1f | %.1f |\n",
                noise.name, step, method, 100 * tally.right / all,
                100 * tally.wrong / all,
                100 * (all - tally.right - tally.wrong) / all, tally.runs / all,
                tally.builds / all);
    std::fflush(stdout);
    return tally;
  };
  for (const Noise& noise : kNoises) {
    for (const int runs : {1, 5}) {
      line(noise, 5, runs == 1 ? "plain" : "plain, median of 5 runs",
           [runs](Machine* machine, Tally* tally) {
             Plain(runs, machine, tally);
           });
    }
    for (const double step : {5.0, 3.0, 0.0}) {
      const Tally tally = line(noise, step, "`duel --bisect`",
                               [step](Machine* machine, Tally* tally) {
                                 Aware(machine, step > 0, tally);
                               });
      if (step == 5) kept &= tally.right >= 0.95 * histories;
      kept &= tally.wrong <= 0.05 * histories;
    }
  }
  std::printf(
      "\n%s: a step of 5%% is found in 95 of 100 histories, and at most 5 of "
      "100 answers are wrong\n",
      kept ? "kept" : "BROKEN");
  return kept ? 0 : 3;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) { return feedrate::Main(argc, argv); }
