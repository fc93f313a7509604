// Finds lasting changes in the results of many commits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/paired_rows.h"
#include "lib/imports/imports.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"
#include "lib/stats/change_points.h"

namespace feedrate {

// The revision and rows of one start of a runner.
struct HistoryEntry {
  // From the `env` record before the rows, otherwise the file's name.
  std::string revision;
  std::string machine_profile;
  // Start of the earliest row. Empty: unknown.
  std::string started_at;
  std::vector<Row> rows;
};

// Reads files and folders. Each `env` record starts a new entry. Of results of
// another harness, each file and each folder in the folder is one, unless the
// results name their commit. Skips torn lines and lines that are not records,
// and calls `warn` for each. InvalidArgument if a record is refused, because a
// change could be in it. Entries are sorted by the times of their rows if all
// have times, otherwise they stay in the given order, files of a folder in that
// of their names.
absl::StatusOr<std::vector<HistoryEntry>> ReadHistory(
    const std::vector<std::string>& paths, const ImportChoice& import,
    const std::function<void(const std::string&)>& warn);

struct HistoryOptions {
  ChangePointOptions change_points;
  RunStatistic statistic = RunStatistic::kTypical;
};

// One job on one machine over time. Several runs at one revision are one point,
// the trimmed mean of their times.
struct HistorySeries {
  std::string job_id;
  std::string label;
  std::string machine_profile;
  // One per point, and the logarithm of the time there.
  std::vector<std::string> revisions;
  std::vector<double> logs;
  // Start of the earliest row of each point. Empty texts: unknown.
  std::vector<std::string> started_at;
  std::vector<Step> steps;
};

// The series of every job, machine by machine, in the order of jobs.
std::vector<HistorySeries> HistoryOf(const std::vector<HistoryEntry>& entries,
                                     const HistoryOptions& options);

// A revision as people write it.
std::string ShortRevision(const std::string& revision);

// The steps of HistoryOf as records.
std::vector<ChangePoint> FindChangePoints(
    const std::vector<HistoryEntry>& entries, const HistoryOptions& options);

// A text for people: one line per change, with the commits to look at and a
// sparkline of the job's whole history.
std::string HistoryText(const std::vector<ChangePoint>& points,
                        const std::vector<HistoryEntry>& entries,
                        const HistoryOptions& options);

}  // namespace feedrate
