// Calls of code that nobody trusts, timed from this process.
//
// The process that makes the calls may do anything in its own memory: patch its
// clocks, keep results, keep threads, answer before it has worked. So nothing
// that it says is believed but the bytes of an output that belong to an input
// that it had never seen, at the moment at which this process stops its own
// clock. docs/distrust.md lists what follows from that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/measure/subject.h"
#include "lib/media/corpus.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/core/measured_process.h"
#include "lib/worker/child.h"
#include "lib/worker/server.h"

namespace feedrate {

// A call whose output is to be checked.
struct KeptCall {
  // uint8, HWC.
  std::string input;
  ItemSize size;
  uint64_t seed = 0;
  ChildOutput output;
};

// Not thread-safe.
class DistrustedCalls : public ChildSubject {
 public:
  // `child`, which has prepared a transform, `corpus` (uint8, HWC, images) and
  // `energy`, which may be null, outlive this.
  static absl::StatusOr<std::unique_ptr<DistrustedCalls>> Attach(
      MeasuredChild* child, const Corpus& corpus, EnergyMeter* energy,
      double hang_s);
  ~DistrustedCalls() override;

  // Each call gets a new image, made of two items of the corpus. A time spans
  // copying it to the process, the call, and copying the output from it.
  absl::StatusOr<TimeReply> Time(const TimeRequest& request) override;

  // Forgets the calls so far, what was kept of them, and what was noted.
  void Forget();
  // Some calls since then, chosen at random.
  const std::vector<KeptCall>& kept() const { return kept_; }
  // Mean time per call that this process itself spent on copying.
  double handover_s() const;
  // FailedPrecondition says what the process did between calls or beside them,
  // or that its calls were impossibly fast.
  absl::Status FindFault() const;

 private:
  struct Map {
    char* data = nullptr;
    int64_t bytes = 0;
  };
  struct OneCall {
    double seconds = 0;
    OutputItem output;
  };

  DistrustedCalls(MeasuredChild* child, const Corpus& corpus,
                  EnergyMeter* energy);
  static absl::StatusOr<Map> MapFile(int fd, int64_t bytes, bool write);
  void MakeInput(int64_t item);
  absl::StatusOr<OneCall> CallOnce(int64_t item, double hang_s);
  void Keep(const OutputItem& output);
  void LookWhileIdle();

  MeasuredChild* const child_;
  const Corpus& corpus_;
  SharedFiles files_;
  Map input_map_;
  Map output_map_;
  // The next input and the last output, which only this process can reach.
  std::string input_;
  ItemSize size_;
  uint64_t seed_ = 0;
  std::string output_;

  std::vector<KeptCall> kept_;
  int64_t calls_ = 0;
  double handover_s_ = 0;
  // Bytes per second of the fastest copy of this process.
  double best_copy_ = 0;
  // Seconds of each call without handing over, for its bytes of output.
  std::vector<std::pair<double, int64_t>> worked_;
  // How often it was looked at while nothing was asked, and did not rest.
  int64_t looks_ = 0;
  int64_t busy_looks_ = 0;
};

// Holds the outputs of calls that nobody trusts against a reference.

class Catalogue;
struct RunContext;

// The setting of jobs that are measured without trust.
inline constexpr char kDistrust[] = "distrust";
// Whether the job has it and runs code of a user.
bool IsDistrusted(const Job& job);

// A library or another subject, with its process.
struct TrustedReference {
  Job job;
  LibraryServer* server = nullptr;
};

// Compares each output with that of `reference` for the same input and seed, or
// without one with the catalog's reference of the transform. FailedPrecondition
// if one of them differs, or if none could be compared; the message says why.
absl::StatusOr<Equivalence> CheckKept(const RunContext& context, const Job& job,
                                      const std::vector<KeptCall>& kept,
                                      const TrustedReference* reference,
                                      absl::Duration limit);

}  // namespace feedrate
