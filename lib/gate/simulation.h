// Whole suites of duels on machines that do not exist: how often the gate is
// wrong, and what it sees.
#ifndef FEEDRATE_LIB_GATE_SIMULATION_H_
#define FEEDRATE_LIB_GATE_SIMULATION_H_

#include <cstdint>

#include "lib/gate/noise.h"

namespace feedrate {

struct SimulatedSuites {
  NoiseModel noise;
  int64_t suites = 100;
  // Jobs of a suite; decides about the level.
  int64_t rows = 500;
  // How much longer B takes, in percent, in every job.
  double slowdown_percent = 0;
  double interest_percent = 2;
  int max_pairs = 30;
  uint64_t seed = 1;
  int threads = 1;
};

struct SimulationResult {
  int64_t rows = 0;
  int64_t same = 0;
  int64_t faster = 0;
  int64_t slower = 0;
  int64_t cannot_tell = 0;
  // Suites with at least one `slower`, and with a `slower` or `faster`.
  int64_t suites_slower = 0;
  int64_t suites_changed = 0;
  // Pairs that were run, over all rows.
  int64_t pairs = 0;
  // Sum of the floors (percent) of all rows.
  double floor_percent_sum = 0;
};

// The same for the same seed, however many threads.
SimulationResult Simulate(const SimulatedSuites& suites);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_SIMULATION_H_
