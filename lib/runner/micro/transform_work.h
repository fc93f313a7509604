// Measures one transform at a time on decoded items.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/job_mode.h"
#include "lib/runner/core/job_settings.h"

namespace feedrate {

class Catalogue;
class Corpus;
class TimeReply;

// What `micro` measures, and `video` on decoded clips: jobs of mode `micro` and
// `decode`.
std::shared_ptr<JobMode> MakeTransformMode();

// Memory that a process of `job` needs for itself, approximately: a library
// that wants objects of its own (layout PIL) copies the `corpus_bytes` of its
// inputs; any other works on the shared ones.
int64_t ExpectedTransformMemory(const Catalogue& catalogue, const Job& job,
                                int64_t corpus_bytes);

// Upper limit for a transform that touches all of its input: copies the items
// of a corpus, one after the other, into one buffer. It reads what a transform
// reads, from the same caches, and writes as much. Not thread-safe.
class CopyLimit {
 public:
  // `catalogue` outlives this.
  explicit CopyLimit(const Catalogue& catalogue) : catalogue_(catalogue) {}

  // Items per second for `job`, which has `reached` this many, on `corpus`,
  // which outlives this. Empty for a transform that need not touch its whole
  // item.
  std::optional<double> Of(const Job& job, const Corpus& corpus,
                           double reached);

 private:
  const Catalogue& catalogue_;
  std::map<const Corpus*, std::optional<double>> known_;
};

struct GpuRowInput {
  GpuSettings settings;
  // Samples below this share of the highest clock, or of the locked one, are
  // marked as slow.
  double slow_clock = 0.75;
  // 0 means not locked.
  int64_t locked_clock_mhz = 0;
  double copy_bytes_per_s = 0;
  // Whether the warm-up ended stable.
  bool warm = false;
  // Whether the transform need not read all of its input.
  bool partial = false;
  // Whether the worker processes the items of a batch one by one; sets a label.
  bool per_sample_loop = false;
};

// Sets clocks, memory, the warning `throttled` when a sample was slow, and the
// limit: the bytes that must move, at the speed of a copy. `row` has its
// timing.
void SetGpu(const GpuRowInput& input, const TimeReply& timing, Row* row);

}  // namespace feedrate
