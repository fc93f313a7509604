// The phases of a measurement: preflight, warm-up, and one timed pass over the
// items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/machine/energy.h"
#include "lib/measure/subject.h"
#include "lib/records/row.pb.h"

namespace feedrate {

struct ChunkPolicy {
  // Calls that take at least this long are timed one by one.
  double chunk_below_s = 10e-6;
  // Largest fraction of a chunk that reading the clock may take.
  double max_clock_share = 0.01;
  // Calls per chunk for GPUs, or as many fewer as take `enough_s`, if that is
  // above 0. 0 means that the rules above apply.
  int64_t fixed = 0;
  double enough_s = 0;
  // With `fixed`: as many passes over the items as needed for this many
  // samples.
  int64_t min_samples = 1;
  // As many passes over the items as take this long.
  double min_s = 0;
};

struct ChunkChoice {
  // Calls per chunk.
  int64_t chunk = 1;
  // Calls in the whole run: `num_items`, or the smallest number of whole passes
  // over them that fills one chunk and takes long enough.
  int64_t count = 0;
};

// Calls per chunk with `fixed`.
int64_t CallsOnGpu(const ChunkPolicy& policy, double per_call_s);

// Chooses how many calls one sample covers. `per_call_s` is the time of a call
// that is timed alone, including the clock's cost.
ChunkChoice ChooseChunk(const ChunkPolicy& policy, double per_call_s,
                        double clock_pair_s, int64_t num_items);

struct PreflightPolicy {
  int64_t items = 10;
  int passes = 1;
  // Seconds per item at which the row stops early, inclusive.
  double slow_threshold_s = 0.05;
  // A preflight that takes longer stops the row, whatever the number of items.
  double max_s = 60;
  // If false, slow transforms run to the end too.
  bool slow_skip = true;
  // If there is no answer after this many seconds, it counts as hanging.
  double hang_s = 120;
  // Items per sample.
  int64_t chunk = 1;
  // Untimed items before the others: the first call on a GPU loads kernels.
  int64_t first_items = 0;
};

struct Preflight {
  double elapsed_s = 0;
  int64_t items = 0;
  // Without the time that the process waited for a processor.
  double per_item_s = 0;
  // If true, the row stops here, for this reason.
  bool stops_early = false;
  std::string reason;
  // The threshold that the time per item reached. Absent if it reached none.
  std::optional<double> slow_from_s;
};

// Runs a transform briefly to see if it is too slow to measure. There is no
// warm-up on a CPU: the cost of first calls counts, as in the public benchmark.
// `unit` is the item's name in the reason.
absl::StatusOr<Preflight> RunPreflight(const PreflightPolicy& policy,
                                       int64_t num_items, uint64_t seed,
                                       const std::string& unit,
                                       Subject* subject);

struct WarmUpPolicy {
  // Items in the warm-up subset.
  int64_t subset_items = 10;
  // Passes over the subset in one window, which must be stable.
  int window = 5;
  // Windows before stability is checked.
  int min_windows = 3;
  int max_passes = 1000;
  // Largest relative difference of the window's mean from the mean of all
  // passes except those of the first window, which contain the cost of first
  // calls.
  double stable_within = 0.05;
  // Upper limit for the timed calls, but at least one pass, stable or not: a
  // slow transform has warmed up long before.
  double max_s = 2;
  // Passes over all items after that, each for at most `max_s`, so that buffers
  // grow to the largest item and per-size caches of the library are filled.
  int full_passes = 1;
  double hang_s = 60;
  // Items per sample.
  int64_t chunk = 1;
  bool cold = false;
  // On a GPU whose clock can be read: largest relative difference of the lowest
  // and highest reading in the window. The clock rises for a few tenths of a
  // second once there is work, and the time of a short transform settles long
  // before. 0 means not checked.
  double clock_within = 0;
};

struct WarmUp {
  int passes = 0;
  double elapsed_s = 0;
  bool stable = false;
  // Mean of the last window.
  double per_item_s = 0;
};

// Makes calls that are not counted, until their time has settled.
absl::StatusOr<WarmUp> RunWarmUp(const WarmUpPolicy& policy, int64_t num_items,
                                 uint64_t seed, Subject* subject);

struct RunRequest {
  int64_t num_items = 0;
  ChunkPolicy chunk;
  // Time per call in the warm-up.
  double per_call_s = 0;
  uint64_t seed = 0;
  // First run an untimed pass over this many items, because other processes
  // have used the caches since the warm-up. 0 means none.
  int64_t rewarm_items = 0;
  double hang_s = 60;
  // On a GPU: fill the L2 cache with other data before each sample.
  bool cold = false;
  // Whose probes are compared with each other.
  std::string worker;
};

struct RunResult {
  TimeReply timing;
  int64_t chunk = 1;
  double elapsed_s = 0;
  FoundNoise noise;
  // Over the timed pass, without repeated samples.
  EnergyUse energy;
  // Absent if the worker took no probes, or without a SpeedWatch.
  std::optional<CoreSpeed> core_speed;
  // CPU seconds of the measured process. Absent if unknown.
  std::optional<double> cpu_s;
};

// Runs one timed pass over the items. It counts as hanging after
// `request.hang_s` plus ten times the duration predicted by the warm-up.
// Samples next to a slow probe are taken again until none is left, or until the
// budget of `speed`, which may be null, is spent.
absl::StatusOr<RunResult> MeasureRun(const RunRequest& request,
                                     Subject* subject, NoiseWatch* noise,
                                     SpeedWatch* speed);

// Whether half the width of the 95% interval of the median is more than
// `within` times the median. False if `within` is 0, and for values that have
// no interval.
bool MedianIsWide(std::vector<double> values, double within);

}  // namespace feedrate
