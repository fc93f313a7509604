// What rows say about a measured process beside its own timings: counters,
// memory, page cache.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/machine/energy.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/subject.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/child.h"

namespace feedrate {

class ChildSubject : public Subject {
 public:
  // `child`, `energy` and `speed` outlive this; the last two may be null.
  // `speed` learns from all probes of `worker`.
  ChildSubject(MeasuredChild* child, double clock_pair_s, EnergyMeter* energy,
               SpeedWatch* speed = nullptr, const std::string& worker = "");

  absl::StatusOr<TimeReply> Time(const TimeRequest& request) override;
  NoiseCounters Count() override;
  double clock_pair_s() const override { return clock_pair_s_; }

 private:
  MeasuredChild* const child_;
  const double clock_pair_s_;
  EnergyMeter* const energy_;
  SpeedWatch* const speed_;
  const std::string worker_;
  const Root root_;
  const CycleCounter cycles_;
};

// Watches the memory of the process tree below `pid`, and of its parent, from
// its own thread, which uses at most 1% of a processor: reading a large process
// takes milliseconds, so the next reading then comes later.
class TreeWatch {
 public:
  // The first reading is after `first_s`, best when most of the work is under
  // way.
  TreeWatch(pid_t parent, pid_t pid, double first_s);
  ~TreeWatch();
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;

  // Ends the watch and returns the largest value seen, with shared pages
  // counted once and the shared images not at all. Empty when it cannot be read
  // on this machine.
  std::optional<int64_t> Stop();

  // Number of finished readings, whatever they found.
  int64_t looks();

 private:
  void Look();
  void Run();

  const pid_t parent_;
  const pid_t pid_;
  const double first_s_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  int64_t looks_ = 0;
  std::optional<int64_t> peak_bytes_;
  std::thread thread_;
};

// Call before each timed part that reads `paths`. With `cold`, has the kernel
// forget them first. Then checks how much of them is in the page cache, and
// keeps the largest share of all calls in `cache`. If there are many files,
// checks an evenly spread part of them.
absl::Status LookAtPages(const std::vector<std::string>& paths, bool cold,
                         Cache* cache);

// Sets `cache` of a row and its label: `cold` when that was asked for and no
// page was in memory; `partly_cold` when some were, or when some were missing
// although nobody asked for that.
void SetCache(const Cache& cache, bool cold, Row* row);

// MB/s while requests were under way. Absent if nothing was read.
std::optional<double> TransferRate(const StorageCounts& counts);

// Sets `storage` of a row that was read from the store at `url`, by at most
// `connections` requests at a time.
void SetTransfers(const StorageCounts& counts, const std::string& url,
                  int connections, Row* row);

}  // namespace feedrate
