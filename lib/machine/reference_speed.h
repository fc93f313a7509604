// How fast this machine runs small workloads that other work is limited by.
#pragma once

#include <string>
#include <vector>

namespace feedrate {

struct ReferenceSpeed {
  // `cpu` (integers, table lookups and branches), `simd` (multiply and add of
  // floats in the first cache, with the widest vectors of the machine),
  // `memory` (copies of 32 MiB) or `disk` (1 MiB written and synchronized).
  std::string workload;
  // Units of work per second, one value per round.
  std::vector<double> per_s;
};

struct ReferenceOptions {
  int rounds = 15;
  // Seconds per workload and round.
  double seconds = 0.02;
  // Where the disk workload writes a file. Empty: $TMPDIR or /tmp.
  std::string folder;
};

// Runs all workloads in each round, in one thread, so that slow drift in
// machine speed affects them equally. `disk` is absent if the folder cannot be
// written.
std::vector<ReferenceSpeed> MeasureReferenceSpeeds(
    const ReferenceOptions& options);

}  // namespace feedrate
