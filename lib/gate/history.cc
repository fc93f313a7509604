#include "lib/gate/history.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/imports/imports.h"
#include "lib/records/attempts.h"
#include "lib/records/record_io.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

void AddRow(const Row& row, HistoryEntry* entry) {
  if (entry->machine_profile.empty()) {
    entry->machine_profile = row.machine_profile();
  }
  const std::string& started = row.started_at();
  if (!started.empty() &&
      (entry->started_at.empty() || started < entry->started_at)) {
    entry->started_at = started;
  }
  entry->rows.push_back(row);
}

class HistoryReader {
 public:
  explicit HistoryReader(std::vector<HistoryEntry>* entries)
      : entries_(entries) {}

  void StartFile(const std::string& path) {
    file_ = path;
    is_open_ = false;
  }

  absl::Status Handle(absl::string_view record, JsonReader& reader) {
    if (record == "env") {
      Env env;
      RETURN_IF_ERROR(reader.Read(&env));
      Open(env.git().revision().empty() ? BaseName(file_)
                                        : env.git().revision());
    } else if (record == "row") {
      Row row;
      RETURN_IF_ERROR(reader.Read(&row));
      if (!is_open_) Open(BaseName(file_));
      AddRow(row, &entries_->back());
    }
    return absl::OkStatus();
  }

 private:
  void Open(const std::string& revision) {
    entries_->emplace_back();
    entries_->back().revision = revision;
    is_open_ = true;
  }

  std::vector<HistoryEntry>* const entries_;
  std::string file_;
  bool is_open_ = false;
};

// What a folder of results holds, files and folders, in the order of their
// names: `run-9.json` before `run-10.json`.
std::vector<std::string> PointsIn(const std::string& folder) {
  std::vector<std::string> points;
  std::error_code error;
  for (const auto& child : std::filesystem::directory_iterator(folder, error)) {
    points.push_back(child.path().string());
  }
  std::sort(points.begin(), points.end(),
            [](const std::string& a, const std::string& b) {
              return strverscmp(a.c_str(), b.c_str()) < 0;
            });
  return points;
}

// Reads results of another harness.
absl::Status ReadImported(const std::string& path, const ImportChoice& import,
                          const std::function<void(const std::string&)>& warn,
                          std::vector<HistoryEntry>* entries) {
  int64_t left_out = 0;
  const bool is_folder = IsFolder(path);
  const std::vector<std::string> points =
      is_folder ? PointsIn(path) : std::vector<std::string>{path};
  for (const std::string& point : points) {
    // Other files may lie beside the results.
    if (is_folder && DetectHarnessOfPath(point, import.harness).empty()) {
      continue;
    }
    std::string name = BaseName(point);
    if (IsFile(point)) name = name.substr(0, name.rfind('.'));
    // criterion:NAME
    name = name.substr(name.rfind(':') + 1);
    std::map<std::string, size_t> known;
    Importer importer(import, [&](const Row& row) {
      const bool has_commit =
          (row.mode() == "asv" || row.mode() == "pytest_benchmark") &&
          !row.library_version().empty();
      const std::string& revision = has_commit ? row.library_version() : name;
      const auto added = known.emplace(revision, entries->size());
      if (added.second) entries->emplace_back().revision = revision;
      AddRow(row, &(*entries)[added.first->second]);
      return absl::OkStatus();
    });
    RETURN_IF_ERROR(importer.ReadPath(point));
    left_out += importer.left_out();
  }
  if (left_out > 0) {
    warn(absl::StrCat(path, ": ", left_out,
                      " results are no times and are left out"));
  }
  return absl::OkStatus();
}

// What one series is about. On fewer processors a job is slower, but not
// because of a change.
using SeriesKey = std::tuple<std::string, std::string, int>;
SeriesKey KeyOf(const Row& row) {
  return {row.job_id(), row.machine_profile(), row.usable_cpus()};
}

std::vector<HistorySeries> SeriesOf(const std::vector<HistoryEntry>& entries,
                                    RunStatistic statistic) {
  std::vector<HistorySeries> series;
  std::map<SeriesKey, size_t> index;
  for (const HistoryEntry& entry : entries) {
    // The rank of the cleanest attempt at each run.
    std::map<std::pair<SeriesKey, int>, int> cleanest;
    const auto rank_of = [&cleanest](const Row& row) -> int& {
      const auto run = std::make_pair(KeyOf(row), row.run_index());
      return cleanest.emplace(run, AttemptRank(row)).first->second;
    };
    for (const Row& row : entry.rows) {
      rank_of(row) = std::min(rank_of(row), AttemptRank(row));
    }
    // Each job once, in the order of rows.
    std::vector<std::pair<const Row*, std::vector<double>>> jobs;
    std::map<SeriesKey, size_t> here;
    for (const Row& row : entry.rows) {
      const absl::optional<double> log = RunLog(row, statistic);
      if (!log || AttemptRank(row) > rank_of(row)) continue;
      const auto added = here.emplace(KeyOf(row), jobs.size());
      if (added.second) jobs.push_back({&row, {}});
      jobs[added.first->second].second.push_back(*log);
    }
    for (auto& job : jobs) {
      const Row& row = *job.first;
      const auto added = index.emplace(KeyOf(row), series.size());
      if (added.second) {
        series.emplace_back();
        series.back().job_id = row.job_id();
        series.back().label = JobLabel(row);
        if (row.has_usable_cpus()) {
          absl::StrAppend(&series.back().label, ", ",
                          Counted(row.usable_cpus(), "processor"));
        }
        series.back().machine_profile = row.machine_profile();
      }
      HistorySeries& one = series[added.first->second];
      one.revisions.push_back(entry.revision);
      one.logs.push_back(TrimmedMean(absl::MakeSpan(job.second)));
      one.started_at.push_back(entry.started_at);
    }
  }
  return series;
}

// Consecutive entries of the same revision are one point.
void JoinRevisions(HistorySeries* series) {
  std::vector<std::string> revisions;
  std::vector<std::string> started_at;
  std::vector<std::vector<double>> logs;
  for (size_t i = 0; i < series->logs.size(); ++i) {
    if (revisions.empty() || revisions.back() != series->revisions[i]) {
      revisions.push_back(series->revisions[i]);
      started_at.push_back(series->started_at[i]);
      logs.emplace_back();
    }
    logs.back().push_back(series->logs[i]);
  }
  series->revisions = std::move(revisions);
  series->started_at = std::move(started_at);
  series->logs.clear();
  for (auto& group : logs) {
    series->logs.push_back(TrimmedMean(absl::MakeSpan(group)));
  }
}

}  // namespace

std::string ShortRevision(const std::string& revision) {
  return PrintableText(revision.size() == 40 ? revision.substr(0, 10)
                                             : revision);
}

std::vector<HistorySeries> HistoryOf(const std::vector<HistoryEntry>& entries,
                                     const HistoryOptions& options) {
  std::vector<HistorySeries> all = SeriesOf(entries, options.statistic);
  for (HistorySeries& series : all) {
    JoinRevisions(&series);
    series.steps = FindSteps(series.logs, options.change_points);
  }
  return all;
}

absl::StatusOr<std::vector<HistoryEntry>> ReadHistory(
    const std::vector<std::string>& paths, const ImportChoice& import,
    const std::function<void(const std::string&)>& warn) {
  std::vector<HistoryEntry> entries;
  HistoryReader history(&entries);
  RecordReader reader(
      [&history](absl::string_view record, JsonReader& json) {
        return history.Handle(record, json);
      },
      warn);
  for (const std::string& path : paths) {
    std::vector<std::string> files = {path};
    if (IsFolder(path)) {
      ASSIGN_OR_RETURN(files, ListPlainFiles(path, ".jsonl"));
    }
    const bool is_imported =
        (files.empty() || files[0] == path) &&
        !absl::EndsWith(path, ".jsonl") &&
        (!import.harness.empty() || !DetectHarnessOfPath(path).empty());
    if (is_imported) {
      RETURN_IF_ERROR(ReadImported(path, import, warn, &entries));
      continue;
    }
    for (const std::string& file : files) {
      history.StartFile(file);
      RETURN_IF_ERROR(reader.ReadFile(file));
    }
  }
  if (reader.refused_records() > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--history: ", Counted(reader.refused_records(), "record"),
        reader.refused_records() == 1 ? " is" : " are",
        " refused; mend or delete the lines that are named above"));
  }
  entries.erase(
      std::remove_if(entries.begin(), entries.end(),
                     [](const HistoryEntry& e) { return e.rows.empty(); }),
      entries.end());
  const bool all_have_times =
      std::all_of(entries.begin(), entries.end(),
                  [](const HistoryEntry& e) { return !e.started_at.empty(); });
  if (all_have_times) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const HistoryEntry& a, const HistoryEntry& b) {
                       return a.started_at < b.started_at;
                     });
  }
  return entries;
}

std::vector<ChangePoint> FindChangePoints(
    const std::vector<HistoryEntry>& entries, const HistoryOptions& options) {
  std::vector<ChangePoint> points;
  for (const HistorySeries& series : HistoryOf(entries, options)) {
    for (const Step& step : series.steps) {
      ChangePoint point;
      point.set_job_id(series.job_id);
      point.set_job(series.label);
      point.set_metric("time");
      point.set_machine_profile(series.machine_profile);
      point.set_before(series.revisions[step.before]);
      point.set_after(series.revisions[step.index]);
      point.set_index(static_cast<int64_t>(step.index));
      point.set_percent(PercentOfLog(step.shift));
      point.set_p_value(step.p_value);
      if (step.gone_at > 0) point.set_gone_at(series.revisions[step.gone_at]);
      points.push_back(std::move(point));
    }
  }
  return points;
}

std::string HistoryText(const std::vector<ChangePoint>& points,
                        const std::vector<HistoryEntry>& entries,
                        const HistoryOptions& options) {
  std::string text;
  std::vector<HistorySeries> all = SeriesOf(entries, options.statistic);
  for (HistorySeries& series : all) {
    JoinRevisions(&series);
    bool any = false;
    for (const ChangePoint& point : points) {
      if (point.job_id() != series.job_id || point.job() != series.label ||
          point.machine_profile() != series.machine_profile) {
        continue;
      }
      if (!any) {
        absl::StrAppend(&text, PrintableText(series.label), " on ",
                        PrintableText(series.machine_profile), "  ",
                        Sparkline(series.logs, 60), "\n");
      }
      any = true;
      absl::StrAppendFormat(
          &text, "  %+.1f%% after %s, at the latest in %s (p = %.1g)%s\n",
          point.percent(), ShortRevision(point.before()),
          ShortRevision(point.after()), point.p_value(),
          point.gone_at().empty()
              ? "; it is still there"
              : absl::StrCat("; it went away in ",
                             ShortRevision(point.gone_at())));
    }
  }
  absl::StrAppend(&text, points.size(),
                  points.size() == 1 ? " change in " : " changes in ",
                  all.size(), all.size() == 1 ? " job over " : " jobs over ",
                  entries.size(), " entries\n");
  return text;
}

}  // namespace feedrate
