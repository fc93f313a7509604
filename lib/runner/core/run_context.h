// What the jobs of one run share.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "lib/base/stopwatch.h"

namespace feedrate {

class Catalogue;
class DoneRuns;
class EnergyMeter;
class EquivalenceCheck;
class InputCorpora;
class Job;
class JobMode;
class NoiseWatch;
class QuietWait;
class SpeedWatch;
class RowOutput;
class ServerPool;
struct ClipTools;
struct RunIdentity;

// What the wall time of a run is spent on.

enum class Spending {
  kImport,       // Waiting for libraries to load.
  kMedia,        // Decoding and converting inputs.
  kPrepare,      // Forking children and making transforms ready.
  kEquivalence,  // Outputs and references.
  kPreflight,
  kWarmUp,
  kTimed,
};

// Adds up time by purpose. Time without an entry counts as the harness's own.
class TimeAccount {
 public:
  // Adds the time from its construction to its destruction.
  class Entry {
   public:
    Entry(TimeAccount* account, Spending spending);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    TimeAccount* const account_;
    const Spending spending_;
    const Stopwatch watch_;
  };

  double Seconds(Spending spending) const;
  // Seconds since the account was created.
  double Total() const;
  // Share of the total that was spent in measured code or in loading it.
  double MeasuredShare() const;
  // `3.21 s: import 10%, media 4%, …, harness 6%`.
  std::string Text() const;

 private:
  static constexpr int kSpendings = 7;
  const Stopwatch watch_{};
  std::array<double, kSpendings> seconds_ = {};
};

// Limits that flags set.
struct RunLimits {
  // Tries beyond the first for runs that failed.
  int retries = 0;
  // 0 means no limit.
  int64_t memory_bytes = 0;
  // How late an answer may be. 0 uses the policy's value.
  double hang_s = 0;
  // Seconds that the run may wait for a quiet machine. Below 0 uses the
  // policy's share of the time.
  double quiet_wait_s = -1;
  // See the policy's field of this name. Below 0 uses the policy's value.
  double stable_within = -1;
};

// Clips per second that the decoding engine of the GPU reaches, for the list of
// files in descriptor `fd` and a number of sessions. A decoder that can measure
// it notes it here for the others that decode on the same engine.
class EngineSpeeds {
 public:
  // Ignores a `clips_per_s` of 0.
  void Note(int fd, int sessions, double clips_per_s);
  // 0 when nobody has measured it.
  double Get(int fd, int sessions) const;

 private:
  std::map<std::pair<int, int>, double> known_;
};

// What the jobs of one run share. Everything outlives the run.
struct RunContext {
  const Catalogue& catalogue;
  const RunLimits limits;
  const RunIdentity& identity;
  const std::vector<std::shared_ptr<JobMode>>& modes;
  ServerPool* const servers;
  InputCorpora* const corpora;
  const DoneRuns* const done;
  RowOutput* const output;
  NoiseWatch* const noise;
  QuietWait* const quiet;
  SpeedWatch* const speed;
  TimeAccount* const account;
  // Null when outputs are not compared.
  EquivalenceCheck* const equivalence;
  EngineSpeeds* const engines;
  // Energy of the processors, and of the processors and the GPU.
  EnergyMeter* const cpu_energy;
  EnergyMeter* const gpu_energy;
  const ClipTools& clips;
  // Becomes readable when the run shall end.
  const int interrupt_fd;
  // Prints a line on standard error, after the name of the running program.
  const std::function<void(const std::string&)> warn;
};

// The meter for rows of the job.
EnergyMeter* EnergyOf(const RunContext& context, const Job& job);

// How long a process may take to make itself ready.
absl::Duration PrepareLimit(const RunContext& context);

// How wide the interval of a job's median may be, see the policy's field.
double StableWithin(const RunContext& context);

// The first of `modes` that covers the job. Null when there is none.
JobMode* FindMode(const std::vector<std::shared_ptr<JobMode>>& modes,
                  const Job& job);

}  // namespace feedrate
