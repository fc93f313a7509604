// A duel: two commands run alternately on one machine, and their verdicts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/duel/distrust.h"
#include "lib/gate/duel/duel_sides.h"
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
  // One program that has both sides, and is told which to run: then `a` and `b`
  // are only its names for people, and it prints rows (LiveCommand). Empty:
  // each run of a side is a process.
  std::string both;
  // More candidates, each against the baseline.
  std::vector<std::string> more_b;
  // Values of parameters: all combinations run, with `{name}` in the commands
  // replaced by the value.
  DuelParameters parameters;
  // Commands that are not timed: once before everything, once after (also when
  // the duel fails), and before each run of a pair. `{name}` is replaced in
  // them too, and `{side}` in the last by a or b.
  std::string setup;
  std::string cleanup;
  std::string prepare;
  // Chance in percent of calling an unchanged suite changed. 0: the default.
  double error_percent = 0;
  // Does not run contests of programs with the same bytes (AreSamePrograms).
  bool skip_identical = false;
  // Adds controls: reference workloads after each run, and in every second
  // pair A once more in B's place.
  bool controls = false;
  // Gives both sides of a pair the same environment size, which differs from
  // pair to pair.
  bool vary_environment = true;
  // Command that links the programs again, with `{seed}` for the layout, before
  // each pair. With `{side}` it runs once per side, with different seeds.
  std::string relink;
  // Number of runs of each side per layout. They count as one pair.
  int runs_per_layout = 1;
  // Runs A against itself, linked again for each side: with another seed in one
  // pair, with the same one in the next.
  bool floor = false;
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
  // Nobody trusts the commands, which have `{seed}` in them (distrust.h): wall
  // time only. May be null.
  Distrust* distrust = nullptr;
  // The user's other flags, as in the Duel record.
  std::vector<std::string> flags;
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
  // Where NVIDIA's management library may be. Empty: no GPU is looked at.
  std::vector<std::string> gpu_libraries;
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
  // Only in a duel with `floor`: logarithms of the times of each layout's runs.
  // The key is twice the pair plus the side.
  std::map<int, std::vector<double>> layout_logs;
};

// Whether this pair of a duel with `floor` runs the same layout twice, which
// shows what is not due to layout.
inline bool HasSameLayouts(int pair) { return pair % 2 == 1; }

// Runs pairs in random order, look by look. After each look only jobs without a
// verdict go on. Several candidates run in one random order with the baseline,
// whose run counts for each of them: the sign of a difference is then still
// decided by coin. Writes a `duel` record, then each row with its `pair`. A
// command that fails gets a row of its own and ends the duel.
absl::StatusOr<DuelResult> RunDuel(const DuelOptions& options);

}  // namespace feedrate
