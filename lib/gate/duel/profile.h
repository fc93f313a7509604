// Profiles both sides of a duel in extra pairs.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/gate/duel/duel.h"
#include "lib/gate/where.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

enum class Profiler {
  // The Python sampler if A spends at least a fifth of its time in Python,
  // otherwise perf.
  kAuto,
  // Samples of CPU time with stacks, by `perf record`.
  kPerf,
  // Samples of the main thread of Python programs.
  kPython,
};

// Runs `pairs` pairs of the duel's commands under a profiler, in random order
// within each pair. FailedPrecondition, with the reason and a remedy, if the
// profiler is missing or not allowed, or if a side fails; Cancelled if the duel
// is stopped.
absl::StatusOr<Profile> RunProfile(const DuelOptions& options,
                                   Profiler profiler, int pairs);

// Parses the output of `perf script -F period,ip,sym,dso`, with cpu-clock as
// the event: periods are nanoseconds.
FoldedStacks ParsePerfScript(const std::string& text);

// Adds the lines `SECONDS STACK` that python_sampler.py writes. Ignores lines
// whose time is not a number above 0.
void AddPythonStacks(absl::string_view text, FoldedStacks* stacks);

}  // namespace feedrate
