// The loop around the timed call.
//
// It adds to a call: two reads of the monotonic clock (through the vDSO, no
// system call), one indirect call, a store and two comparisons. A sample
// contains about half of that: the end of the first read and the start of the
// second. Where that matters, time calls in chunks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/base/stopwatch.h"

namespace feedrate {

struct TimingPlan {
  // Calls `first` to `first + count - 1`, modulo `num_items`.
  int64_t first = 0;
  int64_t count = 0;
  int64_t num_items = 0;
  // Calls between two reads of the clock.
  int64_t chunk = 1;
  // No further chunk starts once this much time has passed.
  int64_t limit_ns = std::numeric_limits<int64_t>::max();
  // The time between two probes is at least this.
  int64_t probe_every_ns = 4000000;
};

// The times of two loops that always do the same, some microseconds each.
struct Probe {
  // Keeps all integer units of a core busy, so it takes up to twice as long
  // while something runs on the core's other thread.
  int64_t wide_ns = 0;
  // Each step waits for the one before, so only the clock matters.
  int64_t chain_ns = 0;
};

struct Timings {
  // One per chunk; the last chunk may be shorter.
  std::vector<int64_t> samples_ns;
  // Number of calls made.
  int64_t items = 0;
  // What `probe` returned, and the number of samples before each.
  std::vector<Probe> probes;
  std::vector<int64_t> probes_at;
};

// Calls run(item) by plan. `now` is MonotonicNs, or a test's clock. `probe` is
// TakeProbe; it is called before the first sample, after the last, and between
// samples, never inside one. Exceptions from `run` pass through. REQUIRES:
// first >= 0; count, num_items, chunk > 0.
template <typename Run, typename Clock, typename Probe>
Timings TimeCalls(const TimingPlan& plan, Clock&& now, Run&& run,
                  Probe&& probe) {
  Timings timings;
  // Writes every sample once, so that no page fault falls between the reads.
  timings.samples_ns.assign((plan.count - 1) / plan.chunk + 1, 0);
  int64_t* sample = timings.samples_ns.data();
  int64_t item = plan.first % plan.num_items;
  const auto take_probe = [&] {
    timings.probes_at.push_back(sample - timings.samples_ns.data());
    timings.probes.push_back(probe());
  };
  take_probe();
  const int64_t start = now();
  int64_t end = start;
  int64_t probed = start;
  for (int64_t left = plan.count; left > 0;) {
    const int64_t calls = std::min(plan.chunk, left);
    const int64_t begin = now();
    for (int64_t i = 0; i < calls; ++i) {
      run(item);
      if (++item == plan.num_items) item = 0;
    }
    end = now();
    *sample++ = end - begin;
    left -= calls;
    timings.items += calls;
    if (end - start > plan.limit_ns) break;
    if (left > 0 && end - probed >= plan.probe_every_ns) {
      take_probe();
      probed = end;
    }
  }
  take_probe();
  timings.samples_ns.resize(sample - timings.samples_ns.data());
  return timings;
}

// Takes about 20 microseconds. Of each loop the smaller of two times counts, so
// that an interrupt does not.
inline Probe TakeProbe() {
  Probe probe;
  for (int i = 0; i < 2; ++i) {
    const int64_t begin = MonotonicNs();
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (uint64_t step = 0; step < 10000; ++step) {
      a += step;
      b ^= step;
      c += 7;
      d ^= c;
      e += 3;
      f ^= step;
      // Keeps the compiler from combining steps.
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
    const int64_t middle = MonotonicNs();
    uint64_t x = 1;
    for (int step = 0; step < 4000; ++step) {
      x *= 0x9e3779b97f4a7c15u;
      asm volatile("" : "+r"(x));
    }
    const int64_t end = MonotonicNs();
    const Probe now = {middle - begin, end - middle};
    if (i == 0 || now.wide_ns < probe.wide_ns) probe.wide_ns = now.wide_ns;
    if (i == 0 || now.chain_ns < probe.chain_ns) probe.chain_ns = now.chain_ns;
  }
  return probe;
}

// Cost of a pair of reads on this machine: the smallest average of some
// batches, since any disturbance makes it longer.
inline double ClockPairSeconds() {
  constexpr int kBatches = 20;
  constexpr int kPairs = 100;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t begin = MonotonicNs();
    // The batch's own two reads are the last pair.
    for (int read = 0; read < 2 * (kPairs - 1); ++read) MonotonicNs();
    least = std::min(least, MonotonicNs() - begin);
  }
  return static_cast<double>(least) / kPairs * 1e-9;
}

}  // namespace feedrate
