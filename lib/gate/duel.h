// Two commands in turns on one machine.
#ifndef FEEDRATE_LIB_GATE_DUEL_H_
#define FEEDRATE_LIB_GATE_DUEL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "lib/base/exit_code.h"
#include "lib/gate/child.h"
#include "lib/gate/paired_rows.h"
#include "lib/stats/paired_design.h"

namespace feedrate {

// Where times come from.
enum class DuelTiming {
  // Rows where the command prints them, else wall time.
  kAuto,
  // Rows that the command prints.
  kRows,
  // Wall time of the command.
  kWall,
};

struct DuelOptions {
  // The baseline and the candidate.
  std::string a;
  std::string b;
  // Pairs at each look. One number: no early end.
  std::vector<int> looks = DefaultLooks(kMaxPairs);
  double interest_percent = kInterestPercent;
  uint64_t seed = 1;
  DuelTiming timing = DuelTiming::kAuto;
  std::string shell = "/bin/sh";
  std::vector<int> cpus;
  double timeout_s = 0;
  // Runs of each side before the first pair, not recorded. Of commands that
  // print rows none, because those warm up themselves.
  int warmup = 1;
  // Name of the job that a plain command is. Empty: A's command.
  std::string name;
  // Only jobs that this means (see IsWantedJob). Empty: all.
  std::string only;
  // True: later stages run the whole commands and use only what they need;
  // false: `--jobs=FILE` is put behind the commands.
  bool rerun_all = false;
  // Exit codes other than 0 do not matter; signals still do.
  bool ignore_failure = false;
  // Makes B slower on purpose: plain commands by a busy loop behind them,
  // programs that print rows by asking them (lib/base/injected_slowdown.h).
  double slow_b_percent = 0;
  std::string machine_profile;
  std::string env_id;

  RunStatistic statistic = RunStatistic::kTypical;
  // Gets each record as soon as it is there.
  std::function<absl::Status(const google::protobuf::Message&)> write;
  // Gets what is being done, for a person; called before each run.
  std::function<void(const std::string&)> progress;
  std::function<void(const std::string&)> warn;
  // Asked now and then; true ends the duel.
  std::function<bool()> is_stopped;
};

struct DuelResult {
  // 0 done, 2 a side did not run to its end, 130 stopped.
  ExitCode exit_code = ExitCode::kDone;
  PairedRows rows{RunStatistic::kTypical};
  // One a job, as compare_baseline would give them.
  std::vector<Verdict> verdicts;
  // Why the exit code is 2.
  std::string failure;
  int64_t runs = 0;
};

// Runs pairs in an order by coin, look by look. After each look only jobs that
// are neither cleared nor convicted go on. Writes a `duel` record, then each
// row with its `pair`. A command that dies is a row of its own, and ends it.
absl::StatusOr<DuelResult> RunDuel(const DuelOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_DUEL_H_
