// A duel: two commands run alternately on one machine, and their verdicts.
#ifndef FEEDRATE_LIB_GATE_DUEL_DUEL_H_
#define FEEDRATE_LIB_GATE_DUEL_DUEL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/duel/timed_command.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"
#include "lib/stats/paired_design.h"

namespace feedrate {

// The source of times.
enum class DuelTiming {
  // Rows if the command prints any, otherwise wall time.
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
  // Number of pairs at each look. A single number means no early end.
  std::vector<int> looks = DefaultLooks(kMaxPairs);
  double interest_percent = kInterestPercent;
  uint64_t seed = 1;
  DuelTiming timing = DuelTiming::kAuto;
  std::string shell = "/bin/sh";
  std::vector<int> cpus;
  double timeout_s = 0;
  // Unrecorded runs of each side before the first pair. Commands that print
  // rows get none, because they warm up themselves.
  int warmup = 1;
  // Job name of a plain command. Empty: A's command.
  std::string name;
  // Restricts the duel to these jobs (see IsWantedJob). Empty: all.
  std::string only;
  // If true, later stages run the whole commands and use only the rows they
  // need. If false, `--jobs=FILE` is appended to the commands.
  bool rerun_all = false;
  // Ignores exit codes other than 0, but not signals.
  bool ignore_failure = false;
  // Slows B down on purpose: plain commands by a busy loop after them, programs
  // that print rows by asking them (lib/base/injected_slowdown.h).
  double slow_b_percent = 0;
  std::string machine_profile;
  std::string env_id;

  RunStatistic statistic = RunStatistic::kTypical;
  // A job goes on while one of these is undecided.
  MetricChoice metrics = DefaultMetricChoice();
  // Called with each record as soon as it exists.
  std::function<absl::Status(const google::protobuf::Message&)> write;
  // Called before each run with a description of it, for people.
  std::function<void(const std::string&)> progress;
  std::function<void(const std::string&)> warn;
  // Called regularly; true ends the duel.
  std::function<bool()> is_stopped;
};

struct DuelResult {
  // 0: done; 2: a side did not run to completion; 130: stopped.
  ExitCode exit_code = ExitCode::kDone;
  PairedRows rows{RunStatistic::kTypical};
  // One per job, the same as compare_baseline's.
  std::vector<Verdict> verdicts;
  // The reason for exit code 2.
  std::string failure;
  int64_t runs = 0;
};

// Runs pairs in random order, look by look. After each look only jobs without a
// verdict go on. Writes a `duel` record, then each row with its `pair`. A
// command that fails gets a row of its own and ends the duel.
absl::StatusOr<DuelResult> RunDuel(const DuelOptions& options);

// The rows in a command's output. Ignores lines that are not records, because a
// plain command may print anything. `broken` counts lines that look like
// records but are not.
std::vector<Row> RowsIn(const std::string& output, int* broken);

// `command` restricted to the jobs in `jobs_file`: replaces `{jobs}` by
// `--jobs=FILE`, or appends that if there is no `{jobs}`. Without a file,
// removes `{jobs}`.
std::string CommandWithJobs(const std::string& command,
                            const std::string& jobs_file);

// The row of a plain command's run, with its wall time as the only sample.
Row WallRow(const std::string& name, const TimedCommandResult& result);

// The row of a command that did not run to completion.
Row FailureRow(const std::string& name, const TimedCommandResult& result);

// A summary for people. One job: both times with spread and range, then how
// they compare. Several jobs: those that are not the same, and counts.
std::string DuelSummary(const DuelOptions& options, const DuelResult& result);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_DUEL_DUEL_H_
