// Lasting changes over many commits.
#ifndef FEEDRATE_LIB_GATE_HISTORY_H_
#define FEEDRATE_LIB_GATE_HISTORY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/run_time.h"
#include "lib/records/records.pb.h"
#include "lib/stats/change_points.h"

namespace feedrate {

// What one start of a runner left: its revision and rows.
struct HistoryEntry {
  // Of the `env` record before the rows; else the file's name.
  std::string revision;
  std::string machine_profile;
  // Of the earliest row. Empty: unknown.
  std::string started_at;
  std::vector<Row> rows;
};

// Reads files of records; each `env` record starts a new entry. Broken lines
// are told to `warn` and passed over. Entries come in the order of their rows'
// times where all have them, else as given.
absl::StatusOr<std::vector<HistoryEntry>> ReadHistory(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&)>& warn);

struct HistoryOptions {
  ChangePointOptions change_points;
  RunStatistic statistic = RunStatistic::kTypical;
};

// The steps of every job, machine by machine, in the order of jobs. Runs of one
// job at one revision count with the middle of their times.
std::vector<ChangePoint> FindChangePoints(
    const std::vector<HistoryEntry>& entries, const HistoryOptions& options);

// For people: one line a change, with the commits to look at, and a sparkline
// of the job's whole history.
std::string HistoryText(const std::vector<ChangePoint>& points,
                        const std::vector<HistoryEntry>& entries,
                        const HistoryOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_HISTORY_H_
