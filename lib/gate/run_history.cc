#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/draw/progress.h"
#include "lib/environment/env_record.h"
#include "lib/gate/baselines.h"
#include "lib/gate/duel/calibrate.h"
#include "lib/gate/history.h"
#include "lib/gate/run_compare.h"
#include "lib/machine/cpu.h"
#include "lib/machine/machine.h"
#include "lib/machine/root.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"

namespace feedrate {

absl::Status WriteOutput(const std::string& path, const std::string& text) {
  if (path != "-") return WriteFileAtomically(path, text);
  RecordWriter out(STDOUT_FILENO, "standard output",
                   RecordWriter::Flush::kWhenFull);
  RETURN_IF_ERROR(out.WriteText(text));
  return out.Finish();
}

absl::StatusOr<ExitCode> RunCalibrate(const CompareOptions& options) {
  const Interrupt interrupt;
  const Env env = EnvRecord(ReadMachine(ThisMachine()), absl::Now());
  CalibrationOptions calibration;
  calibration.duels = options.calibrate_duels;
  calibration.slowdowns_percent = options.calibrate_slowdowns;
  calibration.calibrated_at =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  DuelOptions& duel = calibration.duel;
  duel.a = options.calibrate_command;
  duel.name = options.calibrate_name;
  duel.looks = DefaultLooks(options.calibrate_max_pairs);
  duel.interest_percent = options.interest_percent;
  duel.seed = static_cast<uint64_t>(options.calibrate_seed);
  duel.timing = options.calibrate_timing == "rows"   ? DuelTiming::kRows
                : options.calibrate_timing == "wall" ? DuelTiming::kWall
                                                     : DuelTiming::kAuto;
  duel.statistic = options.statistic;
  duel.metrics = options.metrics;
  duel.cpus = ReadAffinity(Root("/"));
  duel.machine_profile = env.machine_profile();
  duel.env_id = env.env_id();
  duel.is_stopped = [&interrupt] { return interrupt.happened(); };
  duel.warn = options.warn;
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  duel.progress = [&progress](const std::string& what) {
    progress.Show("compare_baseline", 0, 0, what);
  };
  ASSIGN_OR_RETURN(const CalibrationResult result, Calibrate(calibration));
  progress.Finish();
  if (result.exit_code != ExitCode::kDone) {
    if (!result.failure.empty()) options.warn(result.failure);
    return result.exit_code;
  }
  RETURN_IF_ERROR(MakeFolder(options.baselines));
  RETURN_IF_ERROR(
      BaselineStore(options.baselines).AddCalibrations(result.calibrations));
  std::string text;
  if (options.format == "jsonl") {
    for (const Calibration& one : result.calibrations) {
      AppendRecord(one, &text);
    }
  } else {
    text = CalibrationText(result.calibrations);
  }
  RETURN_IF_ERROR(WriteOutput(options.output, text));
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> RunHistory(const CompareOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<HistoryEntry> entries,
                   ReadHistory(options.history, options.import, options.warn));
  HistoryOptions history;
  history.statistic = options.statistic;
  const std::vector<ChangePoint> points = FindChangePoints(entries, history);
  std::string text;
  if (options.format == "jsonl") {
    for (const ChangePoint& point : points) AppendRecord(point, &text);
  } else {
    text = HistoryText(points, entries, history);
  }
  RETURN_IF_ERROR(WriteOutput(options.output, text));
  if (entries.empty()) {
    options.warn(absl::StrCat("--history: no rows or results in ",
                              absl::StrJoin(options.history, ", ")));
    return ExitCode::kInvalid;
  }
  for (const ChangePoint& point : points) {
    if (point.percent() > 0 && point.gone_at().empty()) {
      return ExitCode::kCheckSaidNo;
    }
  }
  return ExitCode::kDone;
}

}  // namespace feedrate
